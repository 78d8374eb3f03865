#include "ngrams.h"

#include <algorithm>
#include <bit>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/core/hash.h>

namespace dragoman::evaluation {
namespace {

constexpr std::uint32_t kEmpty = std::numeric_limits<std::uint32_t>::max();

}  // namespace

NgramIndex::NgramIndex(std::vector<Symbols> sequences) : sequences_(std::move(sequences)) {
  std::size_t symbols = 0;
  for (const Symbols& sequence : sequences_) symbols += sequence.size();
  core::require(symbols < kEmpty / 2, core::ErrorCode::kUnsupported,
                "a segment and its references of {} tokens or characters are too long to be scored; split them",
                symbols);
  const std::size_t slots = std::bit_ceil(2 * symbols + 1);
  slot_keys_.resize(slots);
  slot_numbers_.resize(slots);
  for (const Symbols& sequence : sequences_) numbers_.emplace_back(sequence.size(), 0);
  renumber();
}

void NgramIndex::next_order() {
  ++order_;
  for (Symbols& numbers : numbers_)
    if (!numbers.empty()) numbers.pop_back();
  renumber();
}

void NgramIndex::renumber() {
  distinct_ = 0;
  std::fill(slot_numbers_.begin(), slot_numbers_.end(), kEmpty);
  for (std::size_t s = 0; s < sequences_.size(); ++s)
    for (std::size_t i = 0; i < numbers_[s].size(); ++i)
      numbers_[s][i] = number_of(std::uint64_t{numbers_[s][i]} << 32 | sequences_[s][i + order_ - 1]);
}

std::uint32_t NgramIndex::number_of(std::uint64_t key) {
  const std::size_t mask = slot_keys_.size() - 1;
  std::size_t slot = core::hash_integer(key) & mask;
  while (slot_numbers_[slot] != kEmpty && slot_keys_[slot] != key) slot = (slot + 1) & mask;
  if (slot_numbers_[slot] == kEmpty) {
    slot_keys_[slot] = key;
    slot_numbers_[slot] = distinct_++;
  }
  return slot_numbers_[slot];
}

std::vector<std::uint32_t> NgramIndex::counts(std::size_t sequence) const {
  std::vector<std::uint32_t> counts(distinct_);
  for (const std::uint32_t number : numbers_[sequence]) ++counts[number];
  return counts;
}

std::int64_t matches(std::span<const std::uint32_t> hypothesis, std::span<const std::uint32_t> reference) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < hypothesis.size(); ++i) sum += std::min(hypothesis[i], reference[i]);
  return sum;
}

}  // namespace dragoman::evaluation
