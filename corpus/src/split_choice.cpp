#include "split_choice.h"

#include <algorithm>
#include <iterator>

#include <dragoman/core/fingerprint.h>
#include <dragoman/core/random.h>

namespace dragoman::corpus {
namespace {

constexpr std::uint64_t kSplitStream = 0x73706C6974U;
/// The number of candidates for each requested pair. The surplus replaces sources that grow too large or do not fit
/// into the rest of a set.
constexpr std::uint64_t kCandidates = 2;

std::uint64_t key_of_source(std::uint64_t seed, std::string_view source) {
  const core::RandomBlock block = core::random_block(seed, kSplitStream, core::fingerprint(source));
  return (std::uint64_t{block[1]} << 32) | block[0];
}

/// Moves the first groups that fit into a set of `room` pairs.
SourceGroup take_side(std::map<std::uint64_t, SourceGroup>& groups, std::uint64_t room) {
  SourceGroup side;
  for (auto group = groups.begin(); group != groups.end() && side.size() < room;) {
    if (group->second.size() > room - side.size()) {
      ++group;
      continue;
    }
    std::ranges::move(group->second, std::back_inserter(side));
    group = groups.erase(group);
  }
  std::ranges::sort(side, {}, &Candidate::number);
  return side;
}

}  // namespace

bool SplitChoice::offer(std::string_view source, std::string_view target, const Release& release) {
  const std::uint64_t wanted = kCandidates * (validation_ + test_);
  const std::uint64_t number = offered_++;
  const std::uint64_t key = key_of_source(seed_, source);
  if (key > largest_ || too_large_.contains(key)) return false;
  const auto group = groups_.try_emplace(key).first;
  group->second.push_back({.number = number, .source = std::string(source), .target = std::string(target)});
  ++kept_;
  if (group->second.size() > std::max(validation_, test_)) {
    too_large_.insert(key);
    drop(group, release);
  }
  while (kept_ > wanted) {
    const auto last = std::prev(groups_.end());
    if (kept_ - last->second.size() < wanted) break;
    drop(last, release);
  }
  if (kept_ >= wanted) largest_ = groups_.rbegin()->first;
  return true;
}

void SplitChoice::drop(std::map<std::uint64_t, SourceGroup>::iterator group, const Release& release) {
  for (const Candidate& candidate : group->second) release(candidate);
  kept_ -= group->second.size();
  groups_.erase(group);
}

SplitChoice::Split SplitChoice::finish() {
  Split split;
  split.validation = take_side(groups_, validation_);
  split.test = take_side(groups_, test_);
  split.rest = take_side(groups_, kept_);
  return split;
}

}  // namespace dragoman::corpus
