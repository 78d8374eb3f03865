// The smallest program with something to lose, by which the harness is tested: copies standard input to the file that
// it is told. With a second argument it is careless in the way which that names.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace {

int complain(const char* what) {
  std::perror((std::string("dragoman: copying to the output: ") + what).c_str());
  return 1;
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string output = arguments[1];
  const std::string_view carelessness = count > 2 ? arguments[2] : "";
  if (carelessness == "deaf") {
    constexpr useconds_t kMicroseconds = 50'000;
    std::signal(SIGTERM, [](int) { ::sleep(10); });
    ::usleep(kMicroseconds);
  }
  const std::string partial = carelessness == "in-place" ? output : output + ".partial";
  const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return complain("open");
  std::array<char, 64> buffer{};
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR && carelessness != "stops-when-interrupted") continue;
    if (got < 0 && carelessness != "stops-when-interrupted") return complain("read");
    if (got <= 0) break;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    if (carelessness == "one-write" ? ::write(file, bytes.data(), bytes.size()) < 0 : !write_all(file, bytes))
      if (carelessness != "ignores-errors") return complain("write");
  }
  if (::fsync(file) != 0 && carelessness != "ignores-errors") return complain("sync");
  if (carelessness != "in-place" && ::rename(partial.c_str(), output.c_str()) != 0) return complain("rename");
  if (carelessness == "wordy") std::puts("dragoman: done");
  return 0;
}
