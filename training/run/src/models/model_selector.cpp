#include "models/model_selector.h"

#include "validation/external_metric.h"

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/tensor/host_view.h>
#include <dragoman/training/run_files.h>

namespace dragoman::training {
namespace {

/// The update of the model in RunFiles::kOwedBest, in the metadata of the file.
constexpr const char* kOwedUpdate = "update";

std::string plugin_of_model(const RunParts& run) {
  return run.environment.plugin_of ? run.environment.plugin_of(run.config.model.type) : std::string();
}

core::Json metrics_line(const TrainingState& state, const ValidationResult& result, bool best) {
  core::Json line = {{"type", "validation"},
                     {"update", state.update},
                     {"epoch", state.epoch_of_update()},
                     {"loss", result.loss},
                     {"perplexity", result.perplexity}};
  for (const evaluation::Score& score : result.scores) {
    line[score.name] = score.value;
    if (!score.signature.empty()) line["signatures"][score.name] = score.signature;
  }
  line["best"] = best;
  return line;
}

core::Json sample_line(const TrainingState& state, const ValidationSample& sample) {
  return {{"type", "sample"},
          {"update", state.update},
          {"epoch", state.epoch_of_update()},
          {"random", sample.random},
          {"source", sample.source},
          {"prediction", sample.prediction},
          {"reference", sample.reference}};
}

/// Validations at the ends of epochs show the same samples as other runs with this seed after as many epochs.
SampleDraw draw_of(const TrainingConfig& config, const TrainingState& state) {
  return {.seed = config.training.seed,
          .number = static_cast<std::uint64_t>(config.validation.every_epochs > 0 ? state.epoch : state.update)};
}

}  // namespace

ModelSelector::ModelSelector(RunParts& run, RunProgress& progress, CheckpointKeeper& checkpoints)
    : run_(&run),
      progress_(&progress),
      checkpoints_(&checkpoints),
      exports_(run.config, run.tokenizers, run.record, plugin_of_model(run), run.environment) {}

bool ModelSelector::due() const {
  const TrainingState& state = progress_->state;
  return run_->validator && state.validated != state.update && validation_scheduled(run_->config.validation, state);
}

bool ModelSelector::validate(const std::stop_token& stop) {
  std::optional<ValidatedModel> validated = validate_snapshot(stop);
  if (!validated) return false;
  progress_->state.validated = progress_->state.update;
  take_in(std::move(*validated));
  return true;
}

void ModelSelector::begin() {
  TrainingState& state = progress_->state;
  try {
    // The update may turn out to be one of the best when its parameters are gone.
    if (averages_best(run_->config.checkpoint)) {
      checkpoints_->keep(state.update);
      if (checkpoints_->saved_update() != state.update) checkpoints_->save();
    }
    begun_ = {.state = snapshot(), .at = state, .result = {}};
    concurrent_.begin([this](const std::stop_token& stop) { return validate_beside(*begun_, stop); });
  } catch (...) {
    begun_.reset();
    checkpoints_->rescue();
    throw;
  }
  state.validated = state.update;
  progress_->unsaved = true;
}

ValidationResult ModelSelector::validate_beside(const ValidatedModel& model, const std::stop_token& stop) const {
  const auto context = run_->environment.runtime->make_context(run_->device, *run_->validation_executor);
  model.state.model->parameters().prepare(*context, run_->validation_type);
  return run_->concurrent_validator->run(*model.state.model, draw_of(run_->config, model.at), {}, stop);
}

void ModelSelector::conclude(bool wait) {
  if (!concurrent_.under_way() || !(wait || concurrent_.is_done())) return;
  try {
    begun_->result = concurrent_.take();
  } catch (...) {
    // As if the validation had not begun: a resumed run makes it.
    progress_->state.validated = begun_->at.validated;
    begun_.reset();
    checkpoints_->rescue();
    throw;
  }
  ValidatedModel validated = std::move(*begun_);
  begun_.reset();
  checkpoints_->release(validated.at.update);  // the best ones are kept anyway
  take_in(std::move(validated));
}

void ModelSelector::take_in(ValidatedModel validated) {
  const std::int64_t update = validated.at.update;
  const double value = validated.result.value(run_->config.validation.metric);
  const bool best = progress_->early_stopping.observe(update, value);
  const TrainConfig& recipe = run_->config.training;
  // Not during the warm-up, whose rate is not the one that a reduction applies to.
  if (recipe.schedule.kind == ScheduleKind::kPlateau && update >= recipe.schedule.warmup &&
      progress_->plateau.observe(value))
    run_->log(fmt::format("update {}: no better for {} validations, so the learning rate is reduced", update,
                          recipe.schedule.plateau.patience + 1));
  progress_->other_metrics.observe(update, validated.result);
  progress_->unsaved = true;
  record(validated, best);
  if (best) {
    keep_hypotheses(validated.result.hypotheses);
    export_best(std::move(validated));
  }
}

/// Stores translations next to those of the newest validation, so that systems can be compared: see
/// docs/guides/evaluation.md.
void ModelSelector::keep_hypotheses(const std::vector<std::string>& hypotheses) const {
  if (hypotheses.empty()) return;
  try {
    write_lines(run_->folder.file(RunFiles::kValidation) / "best.txt", hypotheses);
  } catch (const core::Error& error) {
    run_->warn(fmt::format("translations could not be kept: {}", error.what()));
  }
}

bool ModelSelector::validate_last(const std::stop_token& stop) {
  return !run_->validator || progress_->state.validated == progress_->state.update || validate(stop);
}

std::optional<ModelSelector::ValidatedModel> ModelSelector::validate_snapshot(const std::stop_token& stop) {
  try {
    make_room();
    ValidatedModel validated{.state = snapshot(), .at = progress_->state, .result = {}};
    validated.state.model->parameters().prepare(*run_->context, run_->validation_type);
    validated.result = run_->validator->run(*validated.state.model, draw_of(run_->config, progress_->state),
                                            run_->environment.progress, stop);
    make_room();
    return validated;
  } catch (const core::Error& error) {
    if (error.code() == core::ErrorCode::kInterrupted) return std::nullopt;
    checkpoints_->rescue();
    throw;
  } catch (...) {
    checkpoints_->rescue();
    throw;
  }
}

void ModelSelector::record(const ValidatedModel& validated, bool best) {
  const TrainingState& state = validated.at;
  const ValidationResult& result = validated.result;
  for (const std::string& warning : result.warnings) run_->warn(warning);
  progress_->append(metrics_line(state, result, best));
  const ValidationConfig& config = run_->config.validation;
  for (const ValidationSample& sample : result.samples) {
    if (config.samples.in_metrics) progress_->append(sample_line(state, sample));
    run_->log("source:     " + sample.source);
    run_->log("prediction: " + sample.prediction);
    run_->log("reference:  " + sample.reference);
  }
  run_->log(fmt::format("update {}, epoch {}: {}{}", state.update, state.epoch_of_update(), describe(result),
                        best ? " (best so far)" : ""));
}

/// Makes room for another model and its translations where that costs little: steps that a device has recorded would
/// have to be recorded again.
void ModelSelector::make_room() const {
  if (!run_->context->records()) run_->context->free_step_memory();
}

/// Returns a separate model with the parameters that translation would use, without gradients.
Snapshot ModelSelector::snapshot() const {
  const tensor::Tensor values = run_->optimizer->averaged_values();
  tensor::DeviceMemory& memory = run_->context->memory();
  if (run_->adapters) {
    auto adapters = run_->adapters->make_store();
    tensor::copy(memory, adapters->flat_values(), values);
    return {.model = merged(*adapters), .adapters = std::move(adapters)};
  }
  auto model = run_->make_model();
  tensor::copy(memory, model->parameters().flat_values(), values);
  return {.model = std::move(model), .adapters = {}};
}

std::unique_ptr<nn::Seq2SeqModel> ModelSelector::merged(const nn::ParameterStore& adapters) const {
  auto model = run_->make_model();
  tensor::copy(run_->context->memory(), model->parameters().flat_values(), run_->model->parameters().flat_values());
  run_->adapters->merge(*run_->context, adapters, model->parameters());
  return model;
}

Snapshot ModelSelector::mean_of(const std::vector<std::filesystem::path>& files) const {
  if (run_->adapters) {
    auto adapters = run_->adapters->make_store();
    average_tensors(files, *adapters);
    return {.model = merged(*adapters), .adapters = std::move(adapters)};
  }
  auto model = run_->make_model();
  average_tensors(files, model->parameters());
  return {.model = std::move(model), .adapters = {}};
}

void ModelSelector::export_best(ValidatedModel best) {
  const bool written = exports_.write(
      RunFiles::kBest, best.state,
      {.title = "the best validated state of the run", .update = best.at.update, .scores = &best.result});
  owed_best_.reset();
  const std::filesystem::path owed = run_->folder.file(RunFiles::kOwedBest);
  if (written) {
    std::error_code ignored;
    std::filesystem::remove(owed, ignored);
    return;
  }
  try {
    save_tensors(owed, parameter_views(best.state.adapters ? *best.state.adapters : best.state.model->parameters()),
                 {{kOwedUpdate, std::to_string(best.at.update)}});
  } catch (const core::Error& error) {
    run_->warn(fmt::format("nor could its parameters be kept: {}", error.what()));
  }
  owed_best_ = std::move(best);
}

std::optional<ModelSelector::ValidatedModel> ModelSelector::find_owed_best(const std::stop_token& stop) const {
  const auto& ranking = progress_->early_stopping.ranking();
  const std::filesystem::path owed = run_->folder.file(RunFiles::kOwedBest);
  if (ranking.empty() || !std::filesystem::exists(owed)) return std::nullopt;
  // The file of an earlier best model stays where it could not be removed.
  const formats::Metadata metadata = formats::SafetensorsFile::open(owed).metadata();
  const auto update = metadata.find(kOwedUpdate);
  if (update == metadata.end() || update->second != std::to_string(ranking.front().update)) return std::nullopt;
  ValidatedModel best{.state = mean_of({owed}), .at = {}, .result = {}};
  best.at.update = ranking.front().update;
  best.state.model->parameters().prepare(*run_->context, run_->validation_type);
  best.result = run_->validator->run(*best.state.model, {}, run_->environment.progress, stop);
  return best;
}

void ModelSelector::write_owed_best() {
  if (!owed_best_) return;
  ValidatedModel best = std::move(*owed_best_);
  export_best(std::move(best));
}

ModelSelector::Selected ModelSelector::write_last_models(const std::stop_token& stop) {
  const std::int64_t update = progress_->state.update;
  Selected selected{.best = {}, .average = {}, .model = run_->folder.file(RunFiles::kLast)};
  make_room();
  exports_.write(RunFiles::kLast, snapshot(), {.title = "the last state of the run", .update = update});
  if (!owed_best_) owed_best_ = find_owed_best(stop);
  write_owed_best();
  if (const auto& ranking = progress_->early_stopping.ranking(); !ranking.empty()) {
    selected.best = ranking.front();
    selected.model = run_->folder.file(RunFiles::kBest);
  } else if (run_->validator) {
    run_->warn(fmt::format("no validation gave a {} that is a number, so there is no best/; last/ is the last state",
                           run_->config.validation.metric.name()));
  }
  if (run_->config.checkpoint.average > 0) {
    const std::optional<double> mean = export_average(stop);
    const MetricChoice& metric = run_->config.validation.metric;
    if (mean && selected.best &&
        (higher_is_better(metric) ? *mean > selected.best->value : *mean < selected.best->value)) {
      selected.model = run_->folder.file(RunFiles::kAverage);
      selected.average = mean;
    }
  }
  exports_.require_written(checkpoints_->path(update));
  // A model from an earlier part of the run, of which no checkpoint may remain.
  core::require(
      run_->folder.holds_model(selected.model.filename().string()), core::ErrorCode::kIo,
      "{}: is gone, and no longer can it be made: its state is that after update {}; last/ has been written, and "
      "what is left of the run is whole",
      selected.model.string(), selected.best ? selected.best->update : update);
  if (run_->validator && !run_->config.validation.tune.empty()) tune(selected.model, stop);
  return selected;
}

void ModelSelector::tune(const std::filesystem::path& folder, const std::stop_token& stop) {
  make_room();
  const auto model = run_->make_model();
  formats::refill_parameters(folder / formats::ModelFiles::kWeights, model->parameters());
  model->parameters().prepare(*run_->context, run_->validation_type);
  std::vector<std::string> warnings;
  const TuneResult result = run_->validator->tune(*model, warnings, run_->environment.progress, stop);
  for (const std::string& warning : warnings) run_->warn(warning);
  for (const TuneTrial& trial : result.trials) run_->log("tune: " + describe(trial));
  if (!result.best)
    return run_->warn(fmt::format("validation.tune: no search gave a {}, so {} has no search defaults",
                                  run_->config.validation.metric.name(), folder.string()));
  const TuneTrial& best = result.trials[*result.best];
  run_->log("tuned: " + describe(best));
  exports_.set_decoding(folder, best.decoding);
}

std::optional<double> ModelSelector::export_average(const std::stop_token& stop) {
  const std::vector<std::filesystem::path> files = checkpoints_->files_of_mean();
  if (files.empty()) return std::nullopt;
  make_room();
  const Snapshot mean = mean_of(files);
  ModelOrigin origin{.title = fmt::format("the mean of {} checkpoints", files.size()),
                     .update = progress_->state.update};
  if (!run_->validator) {
    exports_.write(RunFiles::kAverage, mean, origin);
    return std::nullopt;
  }
  mean.model->parameters().prepare(*run_->context, run_->validation_type);
  const ValidationResult result = run_->validator->run(*mean.model, {}, run_->environment.progress, stop);
  run_->log(fmt::format("{}: {}", origin.title, describe(result)));
  origin.scores = &result;
  exports_.write(RunFiles::kAverage, mean, origin);
  return result.value(run_->config.validation.metric);
}

}  // namespace dragoman::training
