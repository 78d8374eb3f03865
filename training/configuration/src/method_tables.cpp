#include "method_tables.h"

#include "configuration/config_tables.h"

#include <dragoman/core/json.h>

namespace dragoman::training {
namespace {

using core::Json;
using core::Option;
using core::OptionReader;
using core::OptionTable;

constexpr core::NumberRange<double> kShare{.least = 0, .most = 1};
constexpr core::NumberRange<double> kBelowOne{.least = 0, .most = 1, .most_included = false};
constexpr core::NumberRange<double> kPositive{.least = 0, .most = 1e30, .least_included = false};
constexpr core::NumberRange<std::int64_t> kFromOne{.least = 1, .most = kMany};
constexpr core::NumberRange<std::int64_t> kFromZero{.least = 0, .most = kMany};

std::vector<std::pair<std::string_view, OptimizerKind>> optimizers() {
  std::vector<std::pair<std::string_view, OptimizerKind>> named;
  for (const OptimizerKind kind : {OptimizerKind::kAdamW, OptimizerKind::kAdam, OptimizerKind::kAdafactor,
                                   OptimizerKind::kLion, OptimizerKind::kSgd})
    named.emplace_back(name_of(kind), kind);
  return named;
}

std::vector<std::pair<std::string_view, ScheduleKind>> schedules() {
  std::vector<std::pair<std::string_view, ScheduleKind>> named;
  for (const ScheduleKind kind : {ScheduleKind::kInverseSqrt, ScheduleKind::kNoam, ScheduleKind::kLinear,
                                  ScheduleKind::kCosine, ScheduleKind::kConstant, ScheduleKind::kPolynomial,
                                  ScheduleKind::kPlateau, ScheduleKind::kCyclic, ScheduleKind::kWsd})
    named.emplace_back(name_of(kind), kind);
  return named;
}

OptionTable<PlateauOptions> plateau_table() {
  using Config = PlateauOptions;
  return OptionTable<Config>()
      .number("factor", &Config::factor, {.least = 0, .most = 1, .least_included = false, .most_included = false}, "X",
              "plateau: what the learning rate is multiplied by where validations get no better")
      .number("patience", &Config::patience, kFromZero, "N",
              "plateau: validations without an improvement that are borne before that")
      .number("threshold", &Config::threshold, kBelowOne, "X",
              "plateau: share of the best validation.metric that counts as an improvement")
      .number("cooldown", &Config::cooldown, kFromZero, "N",
              "plateau: validations behind a reduction that are not counted");
}

}  // namespace

std::string_view name_of(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kAdamW:
      return "adamw";
    case OptimizerKind::kAdam:
      return "adam";
    case OptimizerKind::kAdafactor:
      return "adafactor";
    case OptimizerKind::kLion:
      return "lion";
    case OptimizerKind::kSgd:
      return "sgd";
  }
  return "";
}

std::vector<std::string> read_patterns(OptionReader& options, std::string_view key) {
  std::vector<std::string> patterns;
  const Json& list = options.subtree(key);
  if (list.is_null()) return patterns;
  options.check(list.is_array(), key, "must be a list of names of parameters, in which * stands for anything");
  for (const Json& item : list) {
    options.check(item.is_string(), key, "must hold names of parameters, in which * stands for anything");
    patterns.push_back(item.get<std::string>());
  }
  return patterns;
}

Option patterns_option(std::string name, std::string help) {
  return {.name = std::move(name), .placeholder = "[PATTERN, ...]", .help = std::move(help), .fallback = Json::array()};
}

OptionTable<OptimizerConfig> optimizer_table() {
  using Config = OptimizerConfig;
  return OptionTable<Config>()
      .choice("type", &Config::kind, optimizers(), "NAME",
              "adamw has decoupled weight decay, adam that of a penalty; the others: docs/guides/training.md")
      .number("beta1", &Config::beta1, kBelowOne, "X", "Adam, Lion: decay of the mean of gradients")
      .number("beta2", &Config::beta2, kBelowOne, "X", "Adam: decay of the mean of their squares; Lion: of the mean")
      .number("epsilon", &Config::epsilon, {.least = 0, .most = 1, .least_included = false}, "X",
              "Adam: added to the root")
      .number("weight_decay", &Config::weight_decay, kShare, "X",
              "decoupled, but for adam and sgd, in which it is part of the gradient")
      .custom(
          {patterns_option("no_decay", "parameters without it, by name, such as *.bias; none: all decay")},
          [](OptionReader& options, Config& config) { config.no_decay = read_patterns(options, "no_decay"); },
          [](const Config& config, Json& json) { json["no_decay"] = config.no_decay; })
      .number("momentum", &Config::momentum, kBelowOne, "X", "sgd: decay of the sum of gradients; 0: none is kept")
      .flag("nesterov", &Config::nesterov, "sgd: the momentum is Nesterov's")
      .number("decay_rate", &Config::decay_rate, {.least = 0, .most = 10, .least_included = false}, "X",
              "adafactor: the second moment of update t decays by 1 - t^-X")
      .number("square_epsilon", &Config::square_epsilon, {.least = 0, .most = 1, .least_included = false}, "X",
              "adafactor: added to squares of gradients")
      .number("scale_epsilon", &Config::scale_epsilon, {.least = 0, .most = 1, .least_included = false}, "X",
              "adafactor: least size of a parameter, with scale_parameter")
      .number("clip_threshold", &Config::clip_threshold, kPositive, "X",
              "adafactor: largest root mean square of a parameter's update")
      .flag("scale_parameter", &Config::scale_parameter, "adafactor: updates go with the size of the parameter")
      .flag("relative_step", &Config::relative_step,
            "adafactor: the learning rate is min(0.01, 1/sqrt(t)), in place of the schedule's");
}

OptionTable<ScheduleOptions> schedule_table() {
  using Config = ScheduleOptions;
  return OptionTable<Config>()
      .choice("type", &Config::kind, schedules(), "NAME", "what follows the warm-up")
      .number("learning_rate", &Config::learning_rate, kPositive, "X", "the highest one; of noam: a factor")
      .number("warmup", &Config::warmup, kFromZero, "N", "updates in which the learning rate rises from 0")
      .number("final_learning_rate", &Config::final_learning_rate, {.least = 0, .most = 1e30}, "X",
              "that of the last update, or the least; inverse-sqrt, noam and constant have none")
      .number("power", &Config::power, {.least = 0, .most = 100, .least_included = false}, "X",
              "polynomial: of what is left of the updates")
      .number("cycle", &Config::cycle, {.least = 2, .most = kMany}, "N", "cyclic: updates from one peak to the next")
      .number("cycle_decay", &Config::cycle_decay, {.least = 0, .most = 1, .least_included = false}, "X",
              "cyclic: what the height of the next peak is multiplied by")
      .number("decay", &Config::decay, kFromOne, "N", "warmup-stable-decay: updates at the end in which the rate falls")
      .choice("decay_shape", &Config::decay_shape,
              {{"linear", DecayShape::kLinear},
               {"cosine", DecayShape::kCosine},
               {"one-minus-sqrt", DecayShape::kOneMinusSqrt}},
              "NAME", "warmup-stable-decay: how it falls")
      .nested("plateau", &Config::plateau, plateau_table());
}

OptionTable<LossScaleConfig> loss_scale_table() {
  using Config = LossScaleConfig;
  constexpr core::NumberRange<std::int64_t> kScale{.least = 1, .most = std::int64_t{1} << 40};
  return OptionTable<Config>()
      .number("initial", &Config::initial, kScale, "N",
              "fp16: what the gradient of the loss is multiplied by at first; a power of two")
      .number("least", &Config::least, kScale, "N",
              "fp16: halved no further; there on_non_finite says what follows a gradient that is not finite")
      .number("most", &Config::most, kScale, "N", "fp16: doubled no further")
      .number("grow_after", &Config::grow_after, kFromZero, "N",
              "fp16: updates in a row with finite gradients, after which it is doubled; 0: never");
}

OptionTable<GuidedAlignmentConfig> guided_alignment_table() {
  using Config = GuidedAlignmentConfig;
  using ops::AlignmentCost;
  return OptionTable<Config>()
      .number(
          "weight", &Config::weight, {.least = 0, .most = 1000}, "X",
          "of the loss that pulls the model's alignment_layer to the alignments of data.train, if it has any; 0: off")
      .choice("cost", &Config::cost,
              {{"cross-entropy", AlignmentCost::kCrossEntropy},
               {"mean-squared-error", AlignmentCost::kMeanSquaredError},
               {"multiplication", AlignmentCost::kMultiplication}},
              "NAME", "what that loss is");
}

OptionTable<WordDropoutConfig> word_dropout_table() {
  using Config = WordDropoutConfig;
  return OptionTable<Config>()
      .number("source", &Config::source, kBelowOne, "P", "pieces of the source that are read as the unknown token")
      .number("target", &Config::target, kBelowOne, "P", "the same of what the decoder reads, not of what it predicts");
}

std::vector<std::pair<std::string_view, SmoothingKind>> smoothing_kinds() {
  return {{"uniform", SmoothingKind::kUniform}, {"others", SmoothingKind::kOthers}};
}

std::vector<std::pair<std::string_view, NonFinitePolicy>> non_finite_policies() {
  return {{"stop", NonFinitePolicy::kStop}, {"skip", NonFinitePolicy::kSkip}, {"restore", NonFinitePolicy::kRestore}};
}

}  // namespace dragoman::training
