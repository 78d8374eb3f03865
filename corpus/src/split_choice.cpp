#include "split_choice.h"

#include <iterator>

#include <dragoman/core/fingerprint.h>
#include <dragoman/core/random.h>

namespace dragoman::corpus {
namespace {

constexpr std::uint64_t kSplitStream = 0x73706C6974U;

std::uint64_t key_of_source(std::uint64_t seed, std::string_view source) {
  const core::RandomBlock block = core::random_block(seed, kSplitStream, core::fingerprint(source));
  return (std::uint64_t{block[1]} << 32) | block[0];
}

}  // namespace

std::optional<Candidate> SplitChoice::offer(std::string_view source, std::string_view target) {
  Candidate candidate{.key = key_of_source(seed_, source),
                      .number = offered_++,
                      .source = std::string(source),
                      .target = std::string(target)};
  if (count_ == 0) return candidate;
  if (chosen_.size() == count_ && !(candidate < *chosen_.rbegin())) return candidate;
  chosen_.insert(std::move(candidate));
  if (chosen_.size() <= count_) return std::nullopt;
  return std::move(chosen_.extract(std::prev(chosen_.end())).value());
}

}  // namespace dragoman::corpus
