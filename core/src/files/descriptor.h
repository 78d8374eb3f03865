#pragma once

#include <cstddef>
#include <stop_token>
#include <string>

namespace dragoman::core {

/// A file descriptor. If it is owned, the destructor closes it.
class Descriptor {
 public:
  Descriptor(int fd, bool owned) noexcept : fd_(fd), owned_(owned) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  int get() const noexcept { return fd_; }
  /// Closes an owned descriptor. Returns 0, or the error that the operating system reports only now.
  int close() noexcept;

 private:
  int fd_;
  bool owned_;
};

/// Calls read(2), again if it is interrupted. Returns 0 at the end. Throws Error{kIo} that includes `name`.
std::size_t read_some(int fd, char* data, std::size_t size, const std::string& name);

/// Returns whether `path`, without following a final link, still names the open file, which may have been renamed or
/// replaced.
bool still_called(const std::string& path, int fd) noexcept;

/// Returns `given` if a stop can ever be requested through it, otherwise default_stop().
std::stop_token stop_or_default(std::stop_token given);

/// Returns the text of an errno value.
std::string describe_error(int error);

}  // namespace dragoman::core
