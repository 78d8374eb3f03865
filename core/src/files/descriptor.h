#pragma once

#include <cstddef>
#include <stop_token>
#include <string>

namespace dragoman::core {

/// An open file of the operating system, closed at the end of its life if it is owned.
class Descriptor {
 public:
  Descriptor(int fd, bool owned) noexcept : fd_(fd), owned_(owned) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  int get() const noexcept { return fd_; }
  /// Returns 0, or the error that the operating system reports late.
  int close() noexcept;

 private:
  int fd_;
  bool owned_;
};

/// read(2) through interruptions; 0 is the end. Error{kIo} names `name`.
std::size_t read_some(int fd, char* data, std::size_t size, const std::string& name);

/// Whether the path (not a link there) still leads to the open file, which somebody may have renamed or replaced.
bool still_called(const std::string& path, int fd) noexcept;

/// `given` if it can ever be requested, else what set_default_stop() was given.
std::stop_token stop_or_default(std::stop_token given);

/// The text of an error number.
std::string describe_error(int error);

}  // namespace dragoman::core
