#include "dragoman/tokenizer/character_maps.h"
#include "normalizing/character_map.h"
#include "normalizing/character_rules.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

// The layout that character_map.cpp reads.
constexpr std::uint32_t kValueBit = std::uint32_t{1} << 31;
constexpr std::uint32_t kEndBit = std::uint32_t{1} << 8;
constexpr unsigned kOffsetShift = 10;
constexpr std::size_t kBlockUnits = 256;
/// The range of an offset of 21 bits.
constexpr std::size_t kMaxUnits = std::size_t{1} << 21;

std::string to_utf8(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) core::append_utf8(out, c);
  return out;
}

/// A source and the offset of its replacement.
using MapKey = std::pair<std::string, std::uint32_t>;

/// The possible continuations of a prefix of sources. Prefixes with equal continuations share one object. There are far
/// fewer of these than of prefixes, since each of the many spellings of a letter is followed by the same accents.
struct Continuation {
  struct Next {
    std::uint32_t label;  ///< a byte, or 0: a source ends here
    std::uint32_t what;   ///< the number of another continuation, or the offset of a replacement
    auto operator<=>(const Next&) const = default;
  };
  std::vector<Next> nexts;  ///< by label
};

/// All continuations, including the one of the empty prefix.
class Continuations {
 public:
  explicit Continuations(std::span<const MapKey> sorted_keys) : keys_(sorted_keys) {
    root_ = number_of(0, keys_.size(), 0);
  }
  std::uint32_t root() const noexcept { return root_; }
  std::size_t size() const noexcept { return all_.size(); }
  const Continuation& operator[](std::uint32_t number) const { return all_[number]; }

 private:
  /// Returns the number of the continuation for the keys [begin, end), which share their first `depth` bytes.
  std::uint32_t number_of(std::size_t begin, std::size_t end, std::size_t depth) {
    Continuation found;
    if (keys_[begin].first.size() == depth) found.nexts.push_back({0, keys_[begin++].second});
    while (begin < end) {
      const auto label = static_cast<unsigned char>(keys_[begin].first[depth]);
      std::size_t next = begin + 1;
      while (next < end && static_cast<unsigned char>(keys_[next].first[depth]) == label) ++next;
      found.nexts.push_back({label, number_of(begin, next, depth + 1)});
      begin = next;
    }
    const auto [known, is_new] = numbers_.try_emplace(found.nexts, static_cast<std::uint32_t>(all_.size()));
    if (is_new) all_.push_back(std::move(found));
    return known->second;
  }

  std::span<const MapKey> keys_;
  std::map<std::vector<Continuation::Next>, std::uint32_t> numbers_;
  std::vector<Continuation> all_;
  std::uint32_t root_ = 0;
};

class DoubleArrayBuilder {
 public:
  explicit DoubleArrayBuilder(const Continuations& continuations)
      : continuations_(continuations), bases_(continuations.size()) {
    grow();
    taken_[0] = true;
    units_[0] = 0;
    place(0, continuations.root());
  }
  std::vector<std::uint32_t> take() { return std::move(units_); }

 private:
  /// Links a node to its continuation, which may have been placed already for another node.
  void place(std::size_t node, std::uint32_t number) {
    const std::vector<Continuation::Next>& nexts = continuations_[number].nexts;
    const bool is_new = bases_[number] == 0;
    if (is_new) {
      std::vector<std::uint32_t> labels;
      for (const Continuation::Next& next : nexts) labels.push_back(next.label);
      const std::size_t base = find_base(labels);
      base_used_[base] = true;
      for (const std::uint32_t label : labels) taken_[base ^ label] = true;
      bases_[number] = base;
    }
    const std::size_t base = bases_[number];
    units_[node] |= static_cast<std::uint32_t>(node ^ base) << kOffsetShift | (nexts.front().label == 0 ? kEndBit : 0);
    if (!is_new) return;
    for (const Continuation::Next& next : nexts) {
      if (next.label == 0) {
        units_[base] = kValueBit | next.what;
        continue;
      }
      units_[base ^ next.label] = next.label;
      place(base ^ next.label, next.what);
    }
  }

  /// Returns the first base whose children are all free. The bases of two nodes differ, so that a label identifies the
  /// parent.
  std::size_t find_base(std::span<const std::uint32_t> labels) {
    while (first_free_ < units_.size() && taken_[first_free_]) ++first_free_;
    std::size_t looked = 0;
    for (std::size_t at = first_free_;; ++at, ++looked) {
      if (at == units_.size()) grow();
      if (taken_[at]) continue;
      const std::size_t base = at ^ labels.front();
      if (base == 0 || base_used_[base] ||
          std::ranges::any_of(labels, [&](auto label) { return taken_[base ^ label]; }))
        continue;
      constexpr std::size_t kLongSearch = 1024;
      if (looked > kLongSearch) first_free_ = at - kBlockUnits;  // the units before are nearly full
      return base;
    }
  }

  void grow() {
    core::require(units_.size() < kMaxUnits, core::ErrorCode::kUnsupported,
                  "the rules of the normalisation are too many for a character map");
    units_.resize(units_.size() + kBlockUnits, kValueBit);  // differs from every label
    taken_.resize(units_.size());
    base_used_.resize(units_.size());
  }

  const Continuations& continuations_;
  std::vector<std::size_t> bases_;  // by the number of the continuation; 0: not placed
  std::vector<std::uint32_t> units_;
  std::vector<bool> taken_;
  std::vector<bool> base_used_;
  std::size_t first_free_ = 1;
};

void append_unit(std::string& bytes, std::uint32_t unit) {
  for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(unit >> shift & 0xFF);
}

}  // namespace

std::string build_character_map(const CharacterRules& rules) {
  if (rules.empty()) return {};
  std::string replacements;
  core::TextMap<std::uint32_t> places;
  std::vector<MapKey> keys;
  for (const auto& [source, target] : rules) {
    const std::string text = to_utf8(target);
    const auto [found, is_new] = places.try_emplace(text, static_cast<std::uint32_t>(replacements.size()));
    if (is_new) replacements.append(text).push_back('\0');
    keys.emplace_back(to_utf8(source), found->second);
  }
  std::ranges::sort(keys);
  const std::vector<std::uint32_t> units = DoubleArrayBuilder(Continuations(keys)).take();
  std::string map;
  append_unit(map, static_cast<std::uint32_t>(units.size() * sizeof(std::uint32_t)));
  for (const std::uint32_t unit : units) append_unit(map, unit);
  return map + replacements;
}

std::string make_character_map(std::string_view name) {
  return build_character_map(named_character_rules(name));
}

void complete_character_map(SentencePieceNormalization& normalization) {
  if (normalization.character_map.empty() && normalization.name != "identity")
    normalization.character_map = make_character_map(normalization.name);
}

std::string make_character_map_of_rules(std::string_view tsv, const std::string& name) {
  return build_character_map(parse_character_rules(tsv, name));
}

}  // namespace dragoman::tokenizer
