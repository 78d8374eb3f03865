#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dragoman/decoding/model_stepper.h>
#include <dragoman/decoding/score.h>
#include <dragoman/decoding/step_model.h>

namespace dragoman::decoding {

/// How the predictions of several models are combined into one distribution over the next token. Both means are
/// normalised distributions, so that sampling and cuts by probability are well defined.
enum class EnsembleMean : std::uint8_t {
  kProbability,     ///< p(v) = sum_i w_i p_i(v), as in fairseq and Sockeye (linear)
  kLogProbability,  ///< p(v) ~ prod_i p_i(v)^w_i, normalised, as in Sockeye (log-linear); Marian does not normalise
};

/// Models that are searched together. They share vocabularies and special tokens, and may be of different kinds. The
/// caller owns the models, which must outlive every object that uses the ensemble.
///
///     nn::SequenceSpec spec_of_both(const nn::Seq2SeqModel& first, const nn::Seq2SeqModel& second) {
///       const Ensemble ensemble{.models = {&first, &second}, .weights = {2, 1}};
///       return ensemble.spec();
///     }
struct Ensemble {
  std::vector<const nn::Seq2SeqModel*> models{};
  /// One weight per model, greater than 0; only their ratios matter. Empty: equal weights.
  std::vector<double> weights{};
  EnsembleMean mean = EnsembleMean::kProbability;

  /// Returns the spec that all models satisfy; its maximum lengths are the smallest of all models.
  /// Error{kInvalidArgument} names the model that differs and the difference, or describes the invalid weights.
  nn::SequenceSpec spec() const;
  /// Returns one weight per model; the weights sum to 1.
  std::vector<double> normalised_weights() const;
};

/// Forced decoding with several models, as score() does with one; needs one context per model. The result equals, up to
/// rounding, the scores that a search with an EnsembleStepper gives for the same targets.
std::vector<TargetScore> score(const Ensemble& ensemble, std::span<tensor::Context* const> contexts,
                               const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets,
                               const LengthPenalty& penalty = {});

/// A StepModel over several models. Edits, temperatures and noise apply to the combined distribution. Its logarithms
/// replace the logits, and they are never positive, so a repetition penalty always multiplies. Alignments are the mean
/// over the models, if all models have one.
class EnsembleStepper final : public StepModel {
 public:
  /// Takes one context per model, as ModelStepper does. Models and contexts must outlive the stepper.
  EnsembleStepper(const Ensemble& ensemble, std::span<tensor::Context* const> contexts);
  ~EnsembleStepper() override;

  const nn::SequenceSpec& spec() const override { return spec_; }
  void admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) override;
  void release(std::int32_t slot) override;
  void step(const StepRequest& request, StepResult& result) override;
  bool has_alignment() const override;
  std::size_t bytes_in_use() const override;
  std::size_t expected_bytes(std::int64_t source_tokens, std::int64_t target_tokens) const override;

 private:
  struct Member;

  nn::SequenceSpec spec_;
  EnsembleMean mean_;
  std::vector<double> weights_;  ///< sum to 1
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace dragoman::decoding
