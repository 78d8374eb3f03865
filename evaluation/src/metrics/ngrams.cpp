#include "ngrams.h"

#include <algorithm>
#include <bit>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/core/hash.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::evaluation {
namespace {

constexpr std::uint32_t kEmpty = std::numeric_limits<std::uint32_t>::max();

/// Makes `size` copies of a value. A stop may end it, since long segments need new memory for a second.
template <class T>
void fill(std::vector<T>& values, std::size_t size, T value) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 20;
  values.clear();
  values.reserve(size);
  while (values.size() < size) {
    core::check_stop("counting n-grams");
    values.resize(std::min(size, values.size() + kAtOnce), value);
  }
}

}  // namespace

NgramIndex::NgramIndex(std::vector<Symbols> sequences) : sequences_(std::move(sequences)) {
  std::size_t symbols = 0;
  for (const Symbols& sequence : sequences_) symbols += sequence.size();
  core::require(symbols < kEmpty / 2, core::ErrorCode::kUnsupported,
                "a segment and its references of {} tokens or characters are too long to be scored; split them",
                symbols);
  const std::size_t slots = std::bit_ceil(2 * symbols + 1);
  fill(slot_keys_, slots, std::uint64_t{0});
  fill(slot_numbers_, slots, kEmpty);
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
  fill(slot_numbers_, slot_numbers_.size(), kEmpty);
  core::StopCheck check("counting n-grams");
  for (std::size_t s = 0; s < sequences_.size(); ++s)
    for (std::size_t i = 0; i < numbers_[s].size(); ++i) {
      check(10);
      numbers_[s][i] = number_of(std::uint64_t{numbers_[s][i]} << 32 | sequences_[s][i + order_ - 1]);
    }
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
  core::StopCheck check("counting n-grams");
  for (const std::uint32_t number : numbers_[sequence]) {
    check(10);
    ++counts[number];
  }
  return counts;
}

std::int64_t matches(std::span<const std::uint32_t> hypothesis, std::span<const std::uint32_t> reference) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < hypothesis.size(); ++i) sum += std::min(hypothesis[i], reference[i]);
  return sum;
}

}  // namespace dragoman::evaluation
