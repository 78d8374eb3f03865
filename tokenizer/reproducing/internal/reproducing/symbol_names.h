#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include <dragoman/core/hash.h>

namespace dragoman::tokenizer {

/// The strings of symbols by id. No string has two ids: symbols are equal exactly if their strings are, however they
/// came about.
class SymbolNames {
 public:
  /// A new id if the string has none.
  std::int32_t id(std::string_view name) {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    const auto id = static_cast<std::int32_t>(names_.size());
    ids_.emplace(names_.emplace_back(name), id);
    return id;
  }
  bool contains(std::string_view name) const { return ids_.contains(name); }
  std::int32_t joined(std::int32_t left, std::int32_t right) { return id((*this)[left] + (*this)[right]); }
  const std::string& operator[](std::int32_t id) const { return names_[static_cast<std::size_t>(id)]; }
  std::size_t size() const noexcept { return names_.size(); }

 private:
  std::deque<std::string> names_;  // which never move
  std::unordered_map<std::string_view, std::int32_t, core::TextHash> ids_;
};

}  // namespace dragoman::tokenizer
