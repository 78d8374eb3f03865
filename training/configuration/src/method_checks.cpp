#include "method_tables.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>

namespace dragoman::training {
namespace {

using core::ErrorCode;
using core::Json;
using Keys = std::set<std::string_view>;

template <class Part>
Json tree_of(const core::OptionTable<Part>& table, const Part& part) {
  Json json = Json::object();
  table.write(part, json);
  return json;
}

Keys keys_of(const OptimizerConfig& config) {
  Keys keys{"type", "weight_decay", "no_decay"};
  switch (config.kind) {
    case OptimizerKind::kAdamW:
    case OptimizerKind::kAdam:
      keys.insert({"beta1", "beta2", "epsilon"});
      break;
    case OptimizerKind::kLion:
      keys.insert({"beta1", "beta2"});
      break;
    case OptimizerKind::kSgd:
      keys.insert({"momentum", "nesterov"});
      break;
    case OptimizerKind::kAdafactor:
      keys.insert({"decay_rate", "square_epsilon", "clip_threshold", "scale_parameter", "relative_step"});
      if (config.scale_parameter) keys.insert("scale_epsilon");
      break;
  }
  return keys;
}

Keys keys_of(const ScheduleOptions& options) {
  Keys keys{"type", "learning_rate", "warmup"};
  switch (options.kind) {
    case ScheduleKind::kPolynomial:
      keys.insert({"final_learning_rate", "power"});
      break;
    case ScheduleKind::kPlateau:
      keys.insert({"final_learning_rate", "plateau"});
      break;
    case ScheduleKind::kCyclic:
      keys.insert({"final_learning_rate", "cycle", "cycle_decay"});
      break;
    case ScheduleKind::kWsd:
      keys.insert({"final_learning_rate", "decay", "decay_shape"});
      break;
    default:
      // Schedules without a final rate have never rejected the key: configurations that contain it stay valid.
      keys.insert("final_learning_rate");
  }
  return keys;
}

/// Rejects keys that differ from their defaults although nothing uses them.
void refuse_idle(const Json& given, const Json& defaults, const Keys& used, const std::string& where,
                 std::string_view group, std::string_view type) {
  for (const auto& [key, value] : given.items())
    core::require(used.contains(key) || value == defaults[key], ErrorCode::kBadInput,
                  "{}: training.{}.{} has no effect with the type '{}'; leave it out", where, group, key, type);
}

void check_optimizer(const TrainConfig& recipe, const std::string& where) {
  const OptimizerConfig& config = recipe.optimizer;
  refuse_idle(tree_of(optimizer_table(), config), tree_of(optimizer_table(), {}), keys_of(config), where, "optimizer",
              name_of(config.kind));
  core::require(config.no_decay.empty() || config.weight_decay > 0, ErrorCode::kBadInput,
                "{}: training.optimizer.no_decay has no effect without training.optimizer.weight_decay", where);
  core::require(!config.nesterov || config.momentum > 0, ErrorCode::kBadInput,
                "{}: training.optimizer.nesterov needs training.optimizer.momentum", where);
  const bool plain = tree_of(schedule_table(), recipe.schedule) == tree_of(schedule_table(), {});
  core::require(!config.relative_step || plain, ErrorCode::kBadInput,
                "{}: training.optimizer.relative_step has learning rates of its own, so training.schedule has no "
                "effect; leave one of them out",
                where);
}

void check_schedule(const TrainingConfig& config, const std::string& where) {
  const TrainConfig& recipe = config.training;
  const ScheduleOptions& schedule = recipe.schedule;
  refuse_idle(tree_of(schedule_table(), schedule), tree_of(schedule_table(), {}), keys_of(schedule), where, "schedule",
              name_of(schedule.kind));
  const bool falls = schedule.kind == ScheduleKind::kPolynomial || schedule.kind == ScheduleKind::kPlateau ||
                     schedule.kind == ScheduleKind::kCyclic || schedule.kind == ScheduleKind::kWsd;
  core::require(!falls || schedule.final_learning_rate <= schedule.learning_rate, ErrorCode::kBadInput,
                "{}: training.schedule.final_learning_rate {} is more than training.schedule.learning_rate {}", where,
                schedule.final_learning_rate, schedule.learning_rate);
  core::require(schedule.kind != ScheduleKind::kWsd || recipe.updates >= schedule.warmup + schedule.decay,
                ErrorCode::kBadInput,
                "{}: the schedule '{}' needs at least as many training.updates as its warm-up of {} and its decay of "
                "{} have together",
                where, name_of(schedule.kind), schedule.warmup, schedule.decay);
  core::require(
      schedule.kind != ScheduleKind::kPlateau || (!config.data.validation.empty() && config.validation.repeated()),
      ErrorCode::kBadInput,
      "{}: the schedule '{}' goes by validations: it needs data.validation and "
      "validation.every",
      where, name_of(schedule.kind));
}

void check_non_finite(const TrainingConfig& config, const std::string& where) {
  const TrainConfig& recipe = config.training;
  core::require(recipe.on_non_finite != NonFinitePolicy::kRestore || config.checkpoint.every > 0, ErrorCode::kBadInput,
                "{}: training.on_non_finite: restore goes back to checkpoints; set checkpoint.every", where);
  core::require(
      recipe.on_non_finite != NonFinitePolicy::kStop || recipe.non_finite_limit == TrainConfig().non_finite_limit,
      ErrorCode::kBadInput,
      "{}: training.non_finite_limit has no effect with training.on_non_finite: stop; leave it out", where);
}

void check_loss_scale(const TrainConfig& recipe, const std::string& where) {
  const LossScaleConfig& scale = recipe.loss_scale;
  for (const auto& [key, value] :
       {std::pair("initial", scale.initial), std::pair("least", scale.least), std::pair("most", scale.most)})
    core::require(std::has_single_bit(static_cast<std::uint64_t>(value)), ErrorCode::kBadInput,
                  "{}: training.loss_scale.{} is {}; it must be a power of two, so that scaling rounds nothing", where,
                  key, value);
  core::require(scale.least <= scale.initial && scale.initial <= scale.most, ErrorCode::kBadInput,
                "{}: training.loss_scale.initial is {}; it must lie between least, {}, and most, {}", where,
                scale.initial, scale.least, scale.most);
  core::require(recipe.compute == tensor::ComputeChoice::kF16 ||
                    tree_of(loss_scale_table(), scale) == tree_of(loss_scale_table(), {}),
                ErrorCode::kBadInput, "{}: training.loss_scale has no effect without training.compute: fp16", where);
}

void check_losses(const TrainConfig& recipe, const std::string& where) {
  core::require(recipe.label_smoothing_kind == SmoothingKind::kUniform || recipe.label_smoothing > 0,
                ErrorCode::kBadInput,
                "{}: training.label_smoothing_kind has no effect without training.label_smoothing", where);
}

void check_alignment(const TrainingConfig& config, const std::string& where) {
  const DataConfig& data = config.data;
  const bool pieces = data.alignment_units == AlignmentUnits::kPieces;
  core::require(!pieces || (data.bpe_dropout == 0 && !data.subword_sampling.on), ErrorCode::kBadInput,
                "{}: data.alignment_units: pieces are others in every epoch with {}; align words, or leave that out",
                where, data.bpe_dropout > 0 ? "data.bpe_dropout" : "data.subword_regularization");
  if (has_alignments(data.train)) return;
  core::require(!pieces, ErrorCode::kBadInput,
                "{}: data.alignment_units has no effect without word alignments in data.train; name their file as "
                "data.train.alignment",
                where);
  core::require(config.training.guided_alignment == GuidedAlignmentConfig(), ErrorCode::kBadInput,
                "{}: training.guided_alignment has no effect without word alignments in data.train; name their file as "
                "data.train.alignment",
                where);
}

}  // namespace

void check_methods(const TrainingConfig& config, const std::string& where) {
  check_optimizer(config.training, where);
  check_schedule(config, where);
  check_non_finite(config, where);
  check_losses(config.training, where);
  check_loss_scale(config.training, where);
  check_alignment(config, where);
}

}  // namespace dragoman::training
