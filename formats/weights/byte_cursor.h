#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <dragoman/core/error.h>

namespace dragoman::imports {

/// Reads the little-endian bytes of a file in order. Reading beyond the end is an Error{kBadInput} that names file and
/// place.
class ByteCursor {
 public:
  ByteCursor(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(&file) {}

  template <std::integral Number>
  Number number(const char* what) {
    Number value{};
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> take(std::uint64_t count, const char* what) {
    if (count > left())
      fail("{} of {} bytes would end behind the file's {}; copy it again", what, count, bytes_.size());
    const auto taken = bytes_.subspan(place_, static_cast<std::size_t>(count));
    place_ += taken.size();
    return taken;
  }
  std::string_view text(std::uint64_t count, const char* what) {
    const auto taken = take(count, what);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  std::uint64_t left() const noexcept { return bytes_.size() - place_; }
  std::size_t place() const noexcept { return place_; }
  void go_to(std::uint64_t place, const char* what) {
    if (place > bytes_.size()) fail("{} would be behind the file's {} bytes; copy it again", what, bytes_.size());
    place_ = static_cast<std::size_t>(place);
  }

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    core::fail(core::ErrorCode::kBadInput, "{}: byte {}: {}", *file_, place_,
               fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string* file_;
  std::size_t place_ = 0;
};

}  // namespace dragoman::imports
