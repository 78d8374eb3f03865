#pragma once

#include "dragoman/core/json.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace dragoman::core {

/// Builds a Json tree from a parser's events. The interface of Json objects compares each new key with all earlier
/// ones, which would cost five billion comparisons for a file of 100,000 keys. Here the entries of an open object are a
/// plain list, and the caller checks for duplicate keys once, before it closes the object.
class TreeBuilder {
 public:
  using Entry = std::pair<std::string, Json>;

  std::size_t depth() const noexcept { return open_.size(); }
  /// Returns whether the next event is a key: the innermost container is an object whose last key has its value.
  bool expects_key() const noexcept { return !open_.empty() && open_.back().is_object && !open_.back().has_key; }

  void key(std::string name) {
    open_.back().entries.emplace_back(std::move(name), nullptr);
    open_.back().has_key = true;
  }
  void begin_object() { open_.push_back({.is_object = true}); }
  void begin_array() { open_.push_back({.is_object = false}); }
  /// Returns the entries of the innermost container, which must be an object.
  std::vector<Entry>& entries() noexcept { return open_.back().entries; }
  /// Closes the innermost container. The reference is valid until the next event.
  const Json& end() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    return value(closed.is_object ? object_of(closed.entries) : Json(std::move(closed.items)));
  }
  const Json& value(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Open& parent = open_.back();
    if (!parent.is_object) return parent.items.emplace_back(std::move(value));
    parent.has_key = false;
    return parent.entries.back().second = std::move(value);
  }

  Json take() { return std::move(root_); }

 private:
  struct Open {
    bool is_object = false;
    bool has_key = false;
    std::vector<Entry> entries = {};
    Json::array_t items = {};
  };

  static Json object_of(std::vector<Entry>& entries) {
    Json object = Json::object();
    auto& list = object.get_ref<Json::object_t&>();
    list.reserve(entries.size());  // a growing list would copy all values, since its keys are const
    for (auto& [name, item] : entries) list.emplace_back(std::move(name), std::move(item));
    return object;
  }

  std::vector<Open> open_;
  Json root_;
};

/// Returns the indices of the entries sorted by key. Equal keys keep the order of the file.
inline std::vector<std::size_t> sorted_by_key(const std::vector<TreeBuilder::Entry>& entries) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return entries[a].first < entries[b].first; });
  return order;
}

}  // namespace dragoman::core
