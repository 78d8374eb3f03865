#pragma once

#include <memory>

#include <dragoman/core/parallel.h>
#include <dragoman/decoding/decoding_loop.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/tensor/context.h>

namespace dragoman::testing {

/// A real model, small: one layer of attention to the history and one of attention to the source, with random weights;
/// on the reference backend.
class SmallModel {
 public:
  static constexpr std::int32_t kVocabulary = 13;

  explicit SmallModel(std::uint64_t seed = 1, std::int32_t decoder_start = 1);
  ~SmallModel();

  const nn::Seq2SeqModel& model() const { return *model_; }
  tensor::Context& context() { return context_; }

 private:
  tensor::KernelTable kernels_;
  core::SequentialExecutor executor_;
  tensor::Context context_;
  std::unique_ptr<nn::Seq2SeqModel> model_;
};

/// The logits of the token after `target`, from one full pass that knows neither steps nor caches.
std::vector<double> next_logits(SmallModel& small, const std::vector<std::int32_t>& source,
                                const std::vector<std::int32_t>& target);

/// Each token's log probability by a full pass over all that precedes it.
void expect_full_pass(SmallModel& small, const decoding::Sentence& sentence, const decoding::Hypothesis& hypothesis);

/// Sources of 1 to `longest` tokens and the end.
std::vector<decoding::Sentence> small_sentences(std::size_t count, std::int32_t longest, std::uint64_t seed = 3);

}  // namespace dragoman::testing
