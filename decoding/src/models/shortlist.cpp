#include "dragoman/decoding/shortlist.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include <dragoman/core/error.h>

namespace dragoman::decoding {
namespace {

constexpr std::size_t kWordBits = 64;

/// Orders by descending probability, then by descending token, as Marian does.
bool goes_first(const Shortlist::Entry& a, const Shortlist::Entry& b) {
  return std::tuple(a.source, -a.probability, -a.target) < std::tuple(b.source, -b.probability, -b.target);
}

void keep_last_of_each_pair(std::vector<Shortlist::Entry>& entries) {
  const auto pair_of = [](const Shortlist::Entry& entry) { return std::pair(entry.source, entry.target); };
  std::ranges::reverse(entries);
  std::ranges::stable_sort(entries, {}, pair_of);
  const auto same_pair = [&](const auto& a, const auto& b) { return pair_of(a) == pair_of(b); };
  entries.erase(std::unique(entries.begin(), entries.end(), same_pair), entries.end());
}

}  // namespace

Shortlist::Shortlist(const ShortlistVocabularies& vocabularies)
    : target_size_(vocabularies.target_size),
      shared_(vocabularies.shared),
      end_(vocabularies.end),
      offsets_(static_cast<std::size_t>(vocabularies.source_size) + 1) {
  core::require(!shared_ || vocabularies.source_size <= vocabularies.target_size, core::ErrorCode::kInvalidArgument,
                "shortlist: a shared vocabulary has {} source and {} target tokens", vocabularies.source_size,
                vocabularies.target_size);
}

Shortlist::Shortlist(const ShortlistVocabularies& vocabularies, std::vector<Entry> entries,
                     std::span<const std::int32_t> frequent, std::int32_t best)
    : Shortlist(vocabularies) {
  for (const Entry& entry : entries)
    core::require(entry.source >= 0 && entry.source < vocabularies.source_size && entry.target >= 0 &&
                      entry.target < vocabularies.target_size,
                  core::ErrorCode::kInvalidArgument, "shortlist: the pair {}, {} is outside of {} and {} tokens",
                  entry.source, entry.target, vocabularies.source_size, vocabularies.target_size);
  keep_last_of_each_pair(entries);
  std::erase_if(entries, [](const Entry& entry) { return !(entry.probability > 0); });
  std::ranges::sort(entries, goes_first);
  std::size_t next = 0;
  for (std::int32_t source = 0; source < vocabularies.source_size; ++source) {
    const std::size_t begin = targets_.size();
    for (; next < entries.size() && entries[next].source == source; ++next)
      if (targets_.size() - begin < static_cast<std::size_t>(best)) targets_.push_back(entries[next].target);
    std::sort(targets_.begin() + static_cast<std::ptrdiff_t>(begin), targets_.end());
    offsets_[static_cast<std::size_t>(source) + 1] = targets_.size();
  }
  set_always(vocabularies, frequent);
}

void Shortlist::set_always(const ShortlistVocabularies& vocabularies, std::span<const std::int32_t> frequent) {
  always_.assign(frequent.begin(), frequent.end());
  always_.push_back(vocabularies.end);
  always_.push_back(vocabularies.unknown);
  for (const std::int32_t token : always_)
    core::require(token >= 0 && token < target_size_, core::ErrorCode::kInvalidArgument,
                  "shortlist: token {} is outside of the vocabulary of {}", token, target_size_);
}

void Shortlist::candidates(std::span<const std::int32_t> source, std::vector<std::int32_t>& candidates) const {
  std::vector<std::uint64_t> wanted((static_cast<std::size_t>(target_size_) + kWordBits - 1) / kWordBits);
  const auto want = [&](std::int32_t token) {
    wanted[static_cast<std::size_t>(token) / kWordBits] |= std::uint64_t{1}
                                                           << static_cast<std::size_t>(token) % kWordBits;
  };
  for (const std::int32_t token : always_) want(token);
  for (const std::int32_t token : source) {
    if (shared_) want(token);
    const auto place = static_cast<std::size_t>(token);
    for (std::size_t i = offsets_[place]; i < offsets_[place + 1]; ++i) want(targets_[i]);
  }
  candidates.clear();
  for (std::size_t word = 0; word < wanted.size(); ++word)
    for (std::uint64_t bits = wanted[word]; bits != 0; bits &= bits - 1)
      candidates.push_back(static_cast<std::int32_t>(word * kWordBits) + std::countr_zero(bits));
}

}  // namespace dragoman::decoding
