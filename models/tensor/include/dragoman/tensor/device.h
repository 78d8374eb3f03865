#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dragoman::tensor {

/// Where data lives and which backend computes with it: a backend, and the number of one of its devices. Two bytes, to
/// be passed by value. What stands behind the name, and whether it is here at all, the Runtime knows.
class Device {
 public:
  /// The host's memory and cores.
  static const Device kCpu;
  /// Host memory computed in naive double precision: what every other backend is compared with.
  static const Device kReference;

  /// The device `number` of the backend that calls itself `backend`. The same name gives the same device in the whole
  /// process, shared libraries included. Names are letters, digits, '-' and '_'; anything else, a number that is not
  /// from 0 to 255, and more than 256 backends are Error{kInvalidArgument}. Thread-safe.
  static Device of(std::string_view backend, int number = 0);

  constexpr Device() = default;  ///< kCpu
  std::string_view backend() const noexcept;
  int number() const noexcept { return number_; }

  friend constexpr bool operator==(Device, Device) = default;

 private:
  constexpr Device(std::uint8_t backend, std::uint8_t number) : backend_(backend), number_(number) {}

  std::uint8_t backend_ = 0;
  std::uint8_t number_ = 0;
};

inline constexpr Device Device::kCpu{0, 0};
inline constexpr Device Device::kReference{1, 0};

/// "cpu"; "cuda" for the first device of its kind, "cuda:1" for the next.
std::string name_of(Device device);

}  // namespace dragoman::tensor
