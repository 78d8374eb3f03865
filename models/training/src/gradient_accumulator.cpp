#include "gradient_accumulator.h"

#include <algorithm>

#include <dragoman/core/error.h>

namespace dragoman::training {

GradientAccumulator::GradientAccumulator(const TrainingConfig& config, nn::Seq2SeqModel& model, Corpus& corpus,
                                         tensor::Context& context)
    : config_(&config),
      model_(&model),
      corpus_(&corpus),
      context_(&context),
      loss_(uniform_smoothing(config.training, model.spec().target_vocabulary)) {
  loss_.r_drop = config.training.r_drop;
}

UpdateGradients GradientAccumulator::compute(const TrainingState& state) {
  plan_epoch(state);
  const RecipeConfig& recipe = config_->training;
  const EncodedPairs& pairs = corpus_->epoch(state.epoch);
  UpdateGradients result{.sums = {}, .batches = std::min(recipe.accumulate, plan_->batches() - state.batch)};
  const double scale = 1.0 / static_cast<double>(target_tokens(pairs, state, result.batches));
  model_->parameters().begin_gradients();
  for (std::int64_t i = 0; i < result.batches; ++i) {
    batch_.assign(pairs, plan_->batch(state.batch + i), model_->spec().decoder_start, recipe.row_bucket);
    const DropoutKey key{.seed = recipe.seed, .step = static_cast<std::uint64_t>(state.update * recipe.accumulate + i)};
    if (recipe.r_drop > 0) batch_.repeat();
    if (recipe.word_dropout.on()) batch_.drop_words(recipe.word_dropout, model_->spec(), recipe.seed, key.step);
    const ops::LossSums sums = accumulate_gradients(*context_, *model_, batch_, loss_, scale, key);
    result.sums.loss += sums.loss;
    result.sums.negative_log_likelihood += sums.negative_log_likelihood;
    result.sums.tokens += sums.tokens;
  }
  model_->parameters().finish_gradients();
  return result;
}

void GradientAccumulator::plan_epoch(const TrainingState& state) {
  if (planned_epoch_ == state.epoch) return;
  const BatchOptions options{.batch_tokens = config_->training.batch_tokens,
                             .bucket_window = config_->data.bucket_window,
                             .seed = config_->training.seed};
  plan_.emplace(corpus_->epoch(state.epoch), options, state.epoch);
  planned_epoch_ = state.epoch;
  core::require(state.batch < plan_->batches(), core::ErrorCode::kBadInput,
                "{}: the checkpoint stands at batch {} of epoch {}, which has {}", config_->output, state.batch,
                state.epoch + 1, plan_->batches());
}

std::int64_t GradientAccumulator::target_tokens(const EncodedPairs& pairs, const TrainingState& state,
                                                std::int64_t batches) const {
  std::int64_t tokens = 0;
  for (std::int64_t i = 0; i < batches; ++i)
    for (const std::uint32_t pair : plan_->batch(state.batch + i)) tokens += pairs.target.length(pair);
  return tokens;
}

void GradientAccumulator::advance(TrainingState& state, const UpdateGradients& done) const {
  ++state.update;
  state.batch += done.batches;
  if (state.batch < plan_->batches()) return;
  state.batch = 0;
  ++state.epoch;
}

std::int64_t GradientAccumulator::updates_per_epoch() const {
  return (plan_->batches() + config_->training.accumulate - 1) / config_->training.accumulate;
}

}  // namespace dragoman::training
