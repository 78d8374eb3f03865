#include "program/standard_streams.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
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

/// The errno of the first failed write; 0 if none failed.
int print_error = 0;

/// write(2) for the stream `stdout`: continues after interruptions, and stores the cause of a failure, which a stream
/// does not.
ssize_t print(void* /*cookie*/, const char* data, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = ::write(STDOUT_FILENO, data + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (print_error == 0) print_error = errno;
      return static_cast<ssize_t>(done);
    }
    done += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(size);
}

}  // namespace

void hold_standard_streams() {
  // Opened in the wrong direction intentionally: reading from a closed input and writing to a closed output must remain
  // errors.
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", kModes[fd]);  // takes the lowest free number
  FILE* stream = ::fopencookie(nullptr, "w", {.read = nullptr, .write = &print, .seek = nullptr, .close = nullptr});
  if (stream == nullptr) return;  // out of memory: keep the existing stream
  std::setvbuf(stream, nullptr, ::isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF, BUFSIZ);
  stdout = stream;  // a variable, according to the C library's manual (section 12.2)
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

bool claim_last_word() noexcept {
  static std::atomic_flag claimed;
  return !claimed.test_and_set();
}

void finish_standard_output() {
  const bool complete = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (complete) return;
  if (print_error == EPIPE || reader_has_gone())
    core::fail(ErrorCode::kClosedPipe, "standard output: cannot write: its reader has gone away");
  core::require(print_error != EBADF, ErrorCode::kIo, "standard output: cannot write: it is closed");
  core::fail(ErrorCode::kIo, "standard output: cannot write: {}", std::generic_category().message(print_error));
}

}  // namespace dragoman::cli
