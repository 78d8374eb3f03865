#include "standard_streams.h"

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <dragoman/core/error.h>

namespace dragoman::cli {
namespace {

using core::ErrorCode;

bool reader_has_gone() {
  pollfd state{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & POLLERR) != 0;
}

[[noreturn]] void fail_to_print(int error) {
  if (error == EPIPE || reader_has_gone())
    core::fail(ErrorCode::kClosedPipe, "standard output: cannot write: its reader has gone away");
  core::require(error != EBADF, ErrorCode::kIo, "standard output: cannot write: it is closed");
  core::fail(ErrorCode::kIo, "standard output: cannot write: {}",
             error == 0 ? "part of what was printed is lost" : std::generic_category().message(error));
}

}  // namespace

void hold_standard_streams() {
  // The wrong way round on purpose: what is read from a closed input, or written to a closed output, must stay an
  // error.
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", kModes[fd]);  // takes the lowest free number
}

bool write_to_standard_error(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void finish_standard_output() {
  const bool printed_before = std::ferror(stdout) == 0 && !std::cout.fail();
  errno = 0;
  std::cout.flush();
  const int flush_error = std::fflush(stdout) == 0 ? 0 : errno;
  if (flush_error != 0 || !printed_before || std::cout.fail()) fail_to_print(flush_error);
}

}  // namespace dragoman::cli
