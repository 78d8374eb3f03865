#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dragoman/decoding/model_stepper.h>
#include <dragoman/decoding/score.h>
#include <dragoman/decoding/step_model.h>

namespace dragoman::decoding {

/// How the predictions of several models become one distribution over the next token. Both are distributions, so that
/// what samples or cuts by probability can use them.
enum class EnsembleMean : std::uint8_t {
  kProbability,     ///< p(v) = sum_i w_i p_i(v), as fairseq and Sockeye (linear) have it
  kLogProbability,  ///< p(v) ~ prod_i p_i(v)^w_i, normalised, as Sockeye (log-linear); Marian's is not normalised
};

/// Models that are searched together. They share vocabularies and special tokens, and may be of any kinds.
struct Ensemble {
  std::vector<const nn::Seq2SeqModel*> models{};
  /// One for each, above 0; only their ratios count. Empty: equal ones.
  std::vector<double> weights{};
  EnsembleMean mean = EnsembleMean::kProbability;

  /// What all of them take: lengths are those of the shortest. Error{kInvalidArgument} saying which model differs in
  /// what, or what is wrong with the weights.
  nn::SequenceSpec spec() const;
  /// One for each model; they sum to 1.
  std::vector<double> normalised_weights() const;
};

/// Forced decoding with several models together, as score() has it for one; a context for each model. What a search
/// with an EnsembleStepper says of the same targets, to rounding.
std::vector<TargetScore> score(const Ensemble& ensemble, std::span<tensor::Context* const> contexts,
                               const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets,
                               const LengthPenalty& penalty = {});

/// A StepModel over several models. Edits, temperatures and noise apply to the combined distribution, whose logarithm
/// takes the place of the logits: a repetition penalty therefore always multiplies. Alignments are means, if all
/// models have some.
class EnsembleStepper final : public StepModel {
 public:
  /// A context for each model, as ModelStepper has it. All must outlive the stepper.
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
