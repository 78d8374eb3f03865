#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dragoman::tensor {

/// Identifies one device: a backend and the number of one of its devices. It decides where data lives and which kernels
/// compute with it. Two bytes; pass it by value. The Runtime knows the backend object and whether the device exists.
///
///     const Device second_gpu = Device::of("cuda", 1);
///     std::cout << name_of(second_gpu);     // cuda:1
class Device {
 public:
  /// The host's memory and cores.
  static const Device kCpu;
  /// Host memory, computed in double precision by naive loops. All other backends are compared with it.
  static const Device kReference;

  /// Returns device `number` of the backend `backend`. A name gives the same device everywhere in the process, shared
  /// libraries included. Names consist of letters, digits, '-' and '_'. Error{kInvalidArgument} for any other name, for
  /// a number outside 0 to 255, and for more than 256 backends. Thread-safe.
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
