#include "dragoman/tensor/device.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::tensor {
namespace {

constexpr std::size_t kMaxBackends = 256;

/// The names of backends, in the order of their first use. Names are never removed.
class Names {
 public:
  std::uint8_t index(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(names_, name);
    if (found != names_.end()) return static_cast<std::uint8_t>(found - names_.begin());
    core::require(names_.size() < kMaxBackends, core::ErrorCode::kInvalidArgument,
                  "'{}' would be the name of backend number {}; there can be {}", name, names_.size() + 1,
                  kMaxBackends);
    names_.emplace_back(name);
    return static_cast<std::uint8_t>(names_.size() - 1);
  }
  std::string_view name(std::uint8_t index) {
    const std::lock_guard lock(mutex_);
    return names_[index];
  }

 private:
  std::mutex mutex_;
  // The first names match Device::kCpu and kReference. A deque, because its elements never move.
  std::deque<std::string> names_{"cpu", "reference"};
};

Names& names() {
  static Names all;
  return all;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

}  // namespace

Device Device::of(std::string_view backend, int number) {
  core::require(!backend.empty() && backend.size() <= 64 && std::ranges::all_of(backend, is_name_character),
                core::ErrorCode::kInvalidArgument,
                "{} cannot be the name of a backend: use letters, digits, '-' and '_'", core::Quoted{backend});
  core::require(number >= 0 && number <= 255, core::ErrorCode::kInvalidArgument,
                "the number of a device of '{}' is {}; it must be from 0 to 255", backend, number);
  return {names().index(backend), static_cast<std::uint8_t>(number)};
}

std::string_view Device::backend() const noexcept {
  return names().name(backend_);
}

std::string name_of(Device device) {
  const std::string_view backend = device.backend();
  return device.number() == 0 ? std::string(backend) : fmt::format("{}:{}", backend, device.number());
}

}  // namespace dragoman::tensor
