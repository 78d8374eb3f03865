#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dragoman/tensor/ragged.h>
#include <dragoman/training/corpus.h>
#include <dragoman/training/methods.h>

namespace dragoman::training {

struct BatchOptions {
  /// The maximum number of tokens on either side of a batch, before it is filled up. A single pair may have more.
  std::int64_t batch_tokens = 4096;
  /// The number of pairs that are sorted by (source, target) length at a time.
  std::int64_t bucket_window = 8192;
  std::uint64_t seed = 1;
  /// The number of times that the epoch contains the pairs of each part; 0 for none. Empty: the weights of the parts.
  std::vector<double> weights{};
};

/// The batches of an epoch in training order. The epoch contains every pair as often as the weight of its part
/// specifies; without weights, exactly once. The plan is a pure function of the lengths, the parts, the options and the
/// epoch, so (epoch, batch) determines the position of a run in its data.
///
///     std::int64_t target_tokens(const EncodedPairs& pairs) {
///       const EpochPlan plan(pairs, {.batch_tokens = 4096}, /*epoch=*/0);
///       Batch batch;
///       std::int64_t tokens = 0;
///       for (std::int64_t i = 0; i < plan.batches(); ++i) {
///         batch.assign(pairs, plan.batch(i), /*decoder_start=*/1);
///         tokens += batch.target_tokens();
///       }
///       return tokens;
///     }
///
/// Immutable and thread-safe. The pairs are needed by the constructor only.
class EpochPlan {
 public:
  EpochPlan(const EncodedPairs& pairs, const BatchOptions& options, std::int64_t epoch);
  /// Returns a plan with every pair once, longest first: for validation.
  static EpochPlan in_order_of_length(const EncodedPairs& pairs, std::int64_t batch_tokens);

  std::int64_t batches() const noexcept { return static_cast<std::int64_t>(begins_.size()) - 1; }
  std::span<const std::uint32_t> batch(std::int64_t i) const noexcept {
    const auto index = static_cast<std::size_t>(i);
    return std::span(pairs_).subspan(begins_[index], begins_[index + 1] - begins_[index]);
  }

 private:
  EpochPlan() = default;
  void cut(const EncodedPairs& pairs, std::span<const std::uint32_t> order, std::int64_t batch_tokens);
  void shuffle_batches(std::uint64_t seed, std::uint64_t stream);

  std::vector<std::uint32_t> pairs_;
  std::vector<std::size_t> begins_{0};
};

/// One batch of sentence pairs as the model reads it. `input` is the decoder's start token followed by the target
/// without its last token. Pairs that only fill up the batch come last. They are at most as long as the longest pair
/// (at least two tokens), and have no targets (ops::kNoTarget), hence no gradient.
class Batch {
 public:
  /// Replaces the content and reuses its memory. Source tokens, target tokens and pairs are rounded up to a multiple of
  /// `bucket`, which is at least 1.
  void assign(const EncodedPairs& pairs, std::span<const std::uint32_t> which, std::int32_t decoder_start,
              std::int64_t bucket = 1);
  /// Appends all pairs once more, so that each pair is computed with two draws of dropout. The number of targets is
  /// unchanged. For LossOptions::r_drop.
  void repeat();
  /// Replaces pieces of the sources and of the decoder's inputs by `unknown`, with the probability of each side. `end`
  /// and the first decoder inputs are kept. A pure function of the batch, the seed and the step.
  void drop_words(const WordDropoutConfig& config, const nn::SequenceSpec& spec, std::uint64_t seed,
                  std::uint64_t step);
  tensor::RaggedTokens source() const noexcept { return {source_, source_offsets_}; }
  tensor::RaggedTokens input() const noexcept { return {input_, target_offsets_}; }
  std::span<const std::int32_t> target() const noexcept { return target_; }
  /// Return the links of each predicted token to tokens of its source, counted from 0. Token t of the batch has the
  /// links from links()[link_offsets()[t]] up to links()[link_offsets()[t + 1]]. No offsets: the pairs have no
  /// alignments.
  std::span<const std::int32_t> link_offsets() const noexcept { return link_offsets_; }
  std::span<const std::int32_t> links() const noexcept { return links_; }
  bool aligned() const noexcept { return !link_offsets_.empty(); }
  /// Returns the number of tokens with a target.
  std::int64_t target_tokens() const noexcept { return target_tokens_; }

 private:
  void fill_up(std::int32_t decoder_start, std::int64_t bucket);
  void append_links(std::span<const std::int32_t> links, std::int32_t target_tokens);

  std::vector<std::int32_t> source_, input_, target_, source_offsets_, target_offsets_, link_offsets_, links_;
  std::int64_t target_tokens_ = 0;
};

}  // namespace dragoman::training
