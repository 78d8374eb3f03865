#include "gradient_accumulator.h"

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
  source_.go_to(state);
  const RecipeConfig& recipe = config_->training;
  UpdateGradients result{.sums = {}, .batches = source_.available(recipe.accumulate)};
  std::int64_t target_tokens = 0;
  for (std::int64_t i = 0; i < result.batches; ++i) target_tokens += source_.target_tokens(i);
  const double scale = 1.0 / static_cast<double>(target_tokens);
  model_->parameters().begin_gradients();
  for (std::int64_t i = 0; i < result.batches; ++i) {
    source_.assign(i, batch_, model_->spec().decoder_start, recipe.row_bucket);
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

std::int64_t GradientAccumulator::updates_per_epoch() const {
  return (source_.batches_of_epoch() + config_->training.accumulate - 1) / config_->training.accumulate;
}

}  // namespace dragoman::training
