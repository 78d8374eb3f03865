#pragma once

#include <cstdint>
#include <vector>

#include <dragoman/decoding/decoding_loop.h>

namespace dragoman::testing {

/// A model whose next-token distribution is a random but fixed function of source and whole history, small enough for
/// all its translations to be listed. It keeps a hash of each row's history from step to step, so a search that
/// confuses rows, parents or slots gets other numbers. It checks what it is asked for and counts what it holds.
class TableModel final : public decoding::StepModel {
 public:
  static constexpr std::int32_t kEnd = 2;
  static constexpr std::int32_t kStart = 1;
  struct Options {
    std::uint64_t seed = 1;
    std::int32_t vocabulary = 5;
    std::int32_t maximum_target_length = 64;
    /// Added to the end's logit; -infinity: it never ends.
    double end_bias = 0;
    /// Logits are uniform in [-sharpness, sharpness].
    double sharpness = 2;
    /// What a search has to begin with; the distributions do not depend on it.
    std::int32_t decoder_start = kStart;
  };

  explicit TableModel(const Options& options);

  const nn::SequenceSpec& spec() const override { return spec_; }
  void admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) override;
  void release(std::int32_t slot) override;
  void step(const decoding::StepRequest& request, decoding::StepResult& result) override;
  bool has_alignment() const override { return true; }
  std::size_t bytes_in_use() const override { return live_slots() * 100; }
  std::size_t expected_bytes(std::int64_t, std::int64_t) const override { return 100; }

  /// Logits and log probabilities of the token after `tokens`.
  std::vector<double> logits(const std::vector<std::int32_t>& source, const std::vector<std::int32_t>& tokens) const;
  std::vector<double> distribution(const std::vector<std::int32_t>& source,
                                   const std::vector<std::int32_t>& tokens) const;
  /// Attention when the token after `tokens` is predicted.
  std::vector<float> attention(const std::vector<std::int32_t>& source, const std::vector<std::int32_t>& tokens) const;

  std::size_t live_slots() const;
  std::size_t largest_step() const { return largest_step_; }
  std::size_t largest_admission() const { return largest_admission_; }

 private:
  struct Slot {
    bool live = false;
    std::vector<std::int32_t> source;
  };

  std::uint64_t start_hash(const std::vector<std::int32_t>& source) const;
  std::uint64_t append(std::uint64_t hash, std::int32_t token) const;
  std::vector<double> logits(std::uint64_t hash) const;
  std::vector<float> attention(std::uint64_t hash, std::size_t source_length) const;

  Options options_;
  nn::SequenceSpec spec_;
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> histories_;
  std::vector<std::int32_t> history_slots_;
  std::size_t largest_step_ = 0;
  std::size_t largest_admission_ = 0;
};

/// log of softmax.
std::vector<double> log_softmax(std::vector<double> logits);

/// Sources of `count` sentences, 1 to `longest` tokens and the end.
std::vector<decoding::Sentence> random_sentences(std::size_t count, std::int32_t longest, std::uint64_t seed = 7);

/// Every complete translation of at most `maximum_length` tokens, scored as the options say, best first.
std::vector<decoding::Hypothesis> exhaustive_search(const TableModel& model, const std::vector<std::int32_t>& source,
                                                    std::int32_t maximum_length,
                                                    const decoding::DecodingOptions& options);

/// Equal to the last bit.
void expect_same(const std::vector<std::vector<decoding::Hypothesis>>& a,
                 const std::vector<std::vector<decoding::Hypothesis>>& b);

}  // namespace dragoman::testing
