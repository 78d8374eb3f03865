#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace dragoman::testing::emulation {

/// A place in a kernel's source, and the calls that lead to it. Threads that meet must have the same calls. As a
/// default argument, it is the place of the call.
class Site {
 public:
  Site(const char* file = __builtin_FILE(), int line = __builtin_LINE()) : places_{{{file, line}}}, count_(1) {}

  /// Returns the same place in a function that was called from `caller`. Of many calls, the outermost ones are kept.
  Site within(const Site& caller) const {
    Site site = caller;
    site.places_[std::min(site.count_, kMaxPlaces - 1)] = places_[0];
    site.count_ = std::min(site.count_ + 1, kMaxPlaces);
    return site;
  }
  bool operator==(const Site& other) const {
    return count_ == other.count_ && std::equal(places_.begin(), places_.begin() + count_, other.places_.begin());
  }
  /// Returns "rows.cu:12, in access.h:84".
  std::string describe() const {
    std::string text;
    for (int i = 0; i < count_; ++i) {
      const std::string_view file = places_[static_cast<std::size_t>(i)].file;
      text += (i == 0 ? "" : ", in ") + std::string(file.substr(file.rfind('/') + 1)) + ":" +
              std::to_string(places_[static_cast<std::size_t>(i)].line);
    }
    return text;
  }

 private:
  static constexpr int kMaxPlaces = 4;
  struct SourceLine {
    const char* file = "";
    int line = 0;
    bool operator==(const SourceLine& other) const {
      return line == other.line && (file == other.file || std::string_view(file) == other.file);
    }
  };
  std::array<SourceLine, kMaxPlaces> places_;
  int count_;
};

}  // namespace dragoman::testing::emulation
