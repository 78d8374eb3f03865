#include "dragoman/training/batches.h"

#include "data/random_streams.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include <dragoman/core/random.h>
#include <dragoman/ops/softmax_cross_entropy.h>

namespace dragoman::training {
namespace {

std::vector<std::uint32_t> all_pairs(const EncodedPairs& pairs) {
  std::vector<std::uint32_t> order(pairs.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  return order;
}

/// Returns the pairs of an epoch in order. Each pair occurs as often as the weight of its part specifies. The
/// fractional part of the weight selects that share of the part, drawn again in each epoch.
std::vector<std::uint32_t> pairs_of_epoch(const EncodedPairs& pairs, const BatchOptions& options, std::uint64_t epoch) {
  if (pairs.parts.empty()) return all_pairs(pairs);
  std::vector<std::uint32_t> order;
  std::size_t begin = 0;
  for (std::size_t part = 0; part < pairs.parts.size(); ++part) {
    const std::size_t end = pairs.parts[part].end;
    const double weight = options.weights.empty() ? pairs.parts[part].weight : options.weights.at(part);
    std::vector<std::uint32_t> own(end - begin);
    std::iota(own.begin(), own.end(), static_cast<std::uint32_t>(begin));
    const double whole = std::floor(weight);
    for (double times = 0; times < whole; ++times) order.insert(order.end(), own.begin(), own.end());
    core::shuffle(own, options.seed, random_streams::kPartShare + (static_cast<std::uint64_t>(part) << 32) + epoch);
    const auto drawn = static_cast<std::ptrdiff_t>(std::llround((weight - whole) * static_cast<double>(own.size())));
    std::sort(own.begin(), own.begin() + drawn);
    order.insert(order.end(), own.begin(), own.begin() + drawn);
    begin = end;
  }
  return order;
}

/// The sort is stable, so that pairs of equal lengths keep their random order.
void sort_by_length(const EncodedPairs& pairs, std::span<std::uint32_t> order) {
  std::ranges::stable_sort(order, std::less<>(),
                           [&](std::uint32_t i) { return std::tuple(pairs.source.length(i), pairs.target.length(i)); });
}

/// Returns the difference to the next multiple of `bucket`.
std::int64_t missing(std::int64_t n, std::int64_t bucket) {
  return (bucket - n % bucket) % bucket;
}

/// Returns the size of part i if n is divided into `parts` parts that are as equal as possible.
std::size_t share_of(std::int64_t n, std::int64_t parts, std::int64_t i) {
  return static_cast<std::size_t>((i + 1) * n / parts - i * n / parts);
}

/// Returns the length of the longest sequence, at least 2.
std::int64_t longest(const std::vector<std::int32_t>& offsets) {
  std::int32_t most = 2;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) most = std::max(most, offsets[b + 1] - offsets[b]);
  return most;
}

void append(std::vector<std::int32_t>& tokens, std::span<const std::int32_t> sequence) {
  tokens.insert(tokens.end(), sequence.begin(), sequence.end());
}

}  // namespace

EpochPlan::EpochPlan(const EncodedPairs& pairs, const BatchOptions& options, std::int64_t epoch) {
  const auto stream = static_cast<std::uint64_t>(epoch);
  std::vector<std::uint32_t> order = pairs_of_epoch(pairs, options, stream);
  core::shuffle(order, options.seed, random_streams::kPairOrder + stream);
  const auto window = static_cast<std::size_t>(options.bucket_window);
  for (std::size_t begin = 0; begin < order.size() && window > 1; begin += window)
    sort_by_length(pairs, std::span(order).subspan(begin, std::min(window, order.size() - begin)));
  cut(pairs, order, options.batch_tokens);
  shuffle_batches(options.seed, random_streams::kBatchOrder + stream);
}

EpochPlan EpochPlan::in_order_of_length(const EncodedPairs& pairs, std::int64_t batch_tokens) {
  std::vector<std::uint32_t> order = all_pairs(pairs);
  sort_by_length(pairs, order);
  std::ranges::reverse(order);
  EpochPlan plan;
  plan.cut(pairs, order, batch_tokens);
  return plan;
}

void EpochPlan::cut(const EncodedPairs& pairs, std::span<const std::uint32_t> order, std::int64_t batch_tokens) {
  std::int64_t source_tokens = 0;
  std::int64_t target_tokens = 0;
  for (const std::uint32_t pair : order) {
    const std::int64_t source = pairs.source.length(pair);
    const std::int64_t target = pairs.target.length(pair);
    if (pairs_.size() > begins_.back() && std::max(source_tokens + source, target_tokens + target) > batch_tokens) {
      begins_.push_back(pairs_.size());
      source_tokens = target_tokens = 0;
    }
    pairs_.push_back(pair);
    source_tokens += source;
    target_tokens += target;
  }
  if (pairs_.size() > begins_.back()) begins_.push_back(pairs_.size());
}

void EpochPlan::shuffle_batches(std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(batches()));
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  core::shuffle(order, seed, stream);
  EpochPlan shuffled;
  for (const std::uint32_t i : order) {
    const auto pairs = batch(i);
    shuffled.pairs_.insert(shuffled.pairs_.end(), pairs.begin(), pairs.end());
    shuffled.begins_.push_back(shuffled.pairs_.size());
  }
  *this = std::move(shuffled);
}

void Batch::assign(const EncodedPairs& pairs, std::span<const std::uint32_t> which, std::int32_t decoder_start,
                   std::int64_t bucket) {
  source_.clear();
  input_.clear();
  target_.clear();
  source_offsets_.assign(1, 0);
  target_offsets_.assign(1, 0);
  links_.clear();
  link_offsets_.assign(pairs.aligned() ? 1 : 0, 0);
  for (const std::uint32_t pair : which) {
    const auto target = pairs.target[pair];
    append(source_, pairs.source[pair]);
    append(target_, target);
    input_.push_back(decoder_start);
    append(input_, target.first(target.size() - 1));
    source_offsets_.push_back(static_cast<std::int32_t>(source_.size()));
    target_offsets_.push_back(static_cast<std::int32_t>(target_.size()));
    if (pairs.aligned()) append_links(pairs.links[pair], pairs.target.length(pair));
  }
  target_tokens_ = static_cast<std::int64_t>(target_.size());
  fill_up(decoder_start, bucket);
}

/// Appends `links`, which have the form of EncodedPairs::links.
void Batch::append_links(std::span<const std::int32_t> links, std::int32_t target_tokens) {
  std::size_t i = 0;
  for (std::int32_t token = 0; token < target_tokens; ++token) {
    for (; i < links.size() && links[i] == token; i += 2) links_.push_back(links[i + 1]);
    link_offsets_.push_back(static_cast<std::int32_t>(links_.size()));
  }
}

void Batch::fill_up(std::int32_t decoder_start, std::int64_t bucket) {
  const auto source = static_cast<std::int64_t>(source_.size());
  const auto target = static_cast<std::int64_t>(target_.size());
  const std::int64_t longest_source = longest(source_offsets_);
  const std::int64_t longest_target = longest(target_offsets_);
  // Each filler pair has at least one token per side, and there are enough of them that none is too long.
  std::int64_t fillers = missing(static_cast<std::int64_t>(source_offsets_.size()) - 1, bucket);
  const auto source_rows = [&] { return fillers + missing(source + fillers, bucket); };
  const auto target_rows = [&] { return fillers + missing(target + fillers, bucket); };
  while (source_rows() > fillers * longest_source || target_rows() > fillers * longest_target) fillers += bucket;
  for (std::int64_t i = 0; i < fillers; ++i) {
    const std::size_t targets = share_of(target_rows(), fillers, i);
    source_.insert(source_.end(), share_of(source_rows(), fillers, i), 0);
    input_.insert(input_.end(), targets, decoder_start);
    target_.insert(target_.end(), targets, ops::kNoTarget);
    source_offsets_.push_back(static_cast<std::int32_t>(source_.size()));
    target_offsets_.push_back(static_cast<std::int32_t>(target_.size()));
    if (aligned()) link_offsets_.insert(link_offsets_.end(), targets, static_cast<std::int32_t>(links_.size()));
  }
}

namespace {

/// Appends the tokens and boundaries of all sequences once more.
void repeat_sequences(std::vector<std::int32_t>& tokens, std::vector<std::int32_t>& offsets) {
  const std::size_t sequences = offsets.size() - 1, count = tokens.size();
  tokens.reserve(2 * count);
  tokens.insert(tokens.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t b = 1; b <= sequences; ++b) offsets.push_back(offsets[b] + static_cast<std::int32_t>(count));
}

}  // namespace

void Batch::repeat() {
  repeat_sequences(source_, source_offsets_);
  repeat_sequences(input_, target_offsets_);
  if (aligned()) repeat_sequences(links_, link_offsets_);
}

void Batch::drop_words(const WordDropoutConfig& config, const nn::SequenceSpec& spec, std::uint64_t seed,
                       std::uint64_t step) {
  const auto drop = [&](std::vector<std::int32_t>& tokens, double probability, std::uint64_t stream) {
    if (probability == 0) return;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool stays = tokens[i] == spec.end || tokens[i] == spec.decoder_start;
      if (!stays && core::random_uniform(seed, stream + step, i) < probability) tokens[i] = spec.unknown;
    }
  };
  drop(source_, config.source, random_streams::kSourceWordDropout);
  drop(input_, config.target, random_streams::kTargetWordDropout);
}

}  // namespace dragoman::training
