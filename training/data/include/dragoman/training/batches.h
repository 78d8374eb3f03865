#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dragoman/tensor/ragged.h>
#include <dragoman/training/corpus.h>
#include <dragoman/training/methods.h>

namespace dragoman::training {

struct BatchOptions {
  /// Neither side of a batch has more tokens, unless a single pair does; before it is filled up.
  std::int64_t batch_tokens = 4096;
  /// Pairs that are sorted by (source, target) length at a time.
  std::int64_t bucket_window = 8192;
  std::uint64_t seed = 1;
  /// How often the epoch has the pairs of each part, 0 for not at all; empty: as the parts say.
  std::vector<double> weights{};
};

/// Which pairs form which batch of an epoch, in training order: every pair as often as the weight of its part says, and
/// without weights exactly once. A pure function of the lengths, the parts, the options and the epoch, so a run's place
/// in its data is just (epoch, batch).
class EpochPlan {
 public:
  EpochPlan(const EncodedPairs& pairs, const BatchOptions& options, std::int64_t epoch);
  /// As the pairs stand, longest first: for validation.
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

/// One batch of sentence pairs as the model takes it: `input` is the target shifted right behind the decoder's start
/// token. Pairs that only fill it up come last: they are no longer than the longest (of two tokens at least), and have
/// no targets (ops::kNoTarget), so no gradient either.
class Batch {
 public:
  /// Replaces the content; keeps its memory. Source tokens, target tokens and pairs are rounded up to a multiple of
  /// `bucket`, which is 1 or more.
  void assign(const EncodedPairs& pairs, std::span<const std::uint32_t> which, std::int32_t decoder_start,
              std::int64_t bucket = 1);
  /// Lets the model read everything twice, so that each sentence pair is computed with two draws of dropout: behind
  /// the pairs come the same ones again. There are no more targets than before. For LossOptions::r_drop.
  void repeat();
  /// Replaces pieces by `unknown`: of the sources, and of what the decoder reads, each with its probability; neither
  /// `end` nor the decoder's first inputs. A pure function of the batch, the seed and the step.
  void drop_words(const WordDropoutConfig& config, const nn::SequenceSpec& spec, std::uint64_t seed,
                  std::uint64_t step);
  tensor::RaggedTokens source() const noexcept { return {source_, source_offsets_}; }
  tensor::RaggedTokens input() const noexcept { return {input_, target_offsets_}; }
  std::span<const std::int32_t> target() const noexcept { return target_; }
  /// Which tokens of its own source each token that is predicted is linked to, numbered from 0: those of token t of all
  /// are links()[link_offsets()[t]] up to links()[link_offsets()[t + 1]]. No offsets: the pairs have no alignments.
  std::span<const std::int32_t> link_offsets() const noexcept { return link_offsets_; }
  std::span<const std::int32_t> links() const noexcept { return links_; }
  bool aligned() const noexcept { return !link_offsets_.empty(); }
  /// Those that count.
  std::int64_t target_tokens() const noexcept { return target_tokens_; }

 private:
  void fill_up(std::int32_t decoder_start, std::int64_t bucket);
  void append_links(std::span<const std::int32_t> links, std::int32_t target_tokens);

  std::vector<std::int32_t> source_, input_, target_, source_offsets_, target_offsets_, link_offsets_, links_;
  std::int64_t target_tokens_ = 0;
};

}  // namespace dragoman::training
