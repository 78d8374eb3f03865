#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace dragoman::tokenizer {

/// Finds the longest byte string of a set that is a prefix of a text. Nodes are stored in level order, so the children
/// of a node are neighbours and a node takes nine bytes. Construction is linear in the bytes of the keys, whatever
/// these are.
///
/// A key has at most kLongestKey bytes, so looking for keys at every place of a text takes linear time.
class Trie {
 public:
  using Entry = std::pair<std::string_view, std::int32_t>;
  struct Match {
    std::int32_t value = -1;  ///< -1: there is no match
    std::size_t length = 0;
  };

  static constexpr std::size_t kLongestKey = 1024;

  Trie() = default;
  /// Keys must be unique and not empty, values must not be negative. The keys need not outlive the call. Throws
  /// Error{kUnsupported} for a longer key.
  explicit Trie(std::vector<Entry> entries);

  bool empty() const noexcept { return values_.empty(); }
  Match longest_prefix(std::string_view text) const noexcept;
  /// Calls visit(value, length) for every key that is a prefix of the text, the shortest first.
  template <class Visitor>
  void for_each_prefix(std::string_view text, Visitor&& visit) const;

 private:
  struct Range;
  void add_children(const std::vector<Entry>& entries, const Range& range, std::vector<Range>& next);
  std::uint32_t child(std::uint32_t node, unsigned char byte) const noexcept;

  std::array<std::uint32_t, 256> roots_{};  // the node of each first byte; 0: none
  std::vector<std::uint32_t> first_child_;  // node n has the children [first_child_[n], first_child_[n + 1])
  std::vector<unsigned char> labels_;
  std::vector<std::int32_t> values_;
};

template <class Visitor>
void Trie::for_each_prefix(std::string_view text, Visitor&& visit) const {
  if (text.empty() || empty()) return;
  std::uint32_t node = roots_[static_cast<unsigned char>(text[0])];
  for (std::size_t length = 1; node != 0; ++length) {
    if (values_[node] >= 0) visit(values_[node], length);
    if (length == text.size()) break;
    node = child(node, static_cast<unsigned char>(text[length]));
  }
}

}  // namespace dragoman::tokenizer
