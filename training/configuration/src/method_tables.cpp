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
              "plateau: factor of the learning rate when validations do not improve")
      .number("patience", &Config::patience, kFromZero, "N",
              "plateau: number of validations without an improvement before a reduction")
      .number("threshold", &Config::threshold, kBelowOne, "X",
              "plateau: minimum improvement, as a share of the best validation.metric")
      .number("cooldown", &Config::cooldown, kFromZero, "N",
              "plateau: number of validations after a reduction that do not count");
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
              "adamw has decoupled weight decay, adam has the decay in the gradient; for the others see "
              "docs/guides/training.md")
      .number("beta1", &Config::beta1, kBelowOne, "X", "Adam, Lion: decay of the mean of gradients")
      .number("beta2", &Config::beta2, kBelowOne, "X", "Adam: decay of the mean of their squares; Lion: of the mean")
      .number("epsilon", &Config::epsilon, {.least = 0, .most = 1, .least_included = false}, "X",
              "Adam: added to the root of the second moment")
      .number("weight_decay", &Config::weight_decay, kShare, "X",
              "weight decay; decoupled, except that adam and sgd add it to the gradient")
      .custom(
          {patterns_option("no_decay", "names of parameters without weight decay, such as *.bias; empty: all decay")},
          [](OptionReader& options, Config& config) { config.no_decay = read_patterns(options, "no_decay"); },
          [](const Config& config, Json& json) { json["no_decay"] = config.no_decay; })
      .number("momentum", &Config::momentum, kBelowOne, "X", "sgd: decay of the sum of gradients; 0: no momentum")
      .flag("nesterov", &Config::nesterov, "sgd: use Nesterov momentum")
      .number("decay_rate", &Config::decay_rate, {.least = 0, .most = 10, .least_included = false}, "X",
              "adafactor: the second moment of update t decays by 1 - t^-X")
      .number("square_epsilon", &Config::square_epsilon, {.least = 0, .most = 1, .least_included = false}, "X",
              "adafactor: added to squares of gradients")
      .number("scale_epsilon", &Config::scale_epsilon, {.least = 0, .most = 1, .least_included = false}, "X",
              "adafactor: minimum scale of a parameter, with scale_parameter")
      .number("clip_threshold", &Config::clip_threshold, kPositive, "X",
              "adafactor: maximum root mean square of a parameter's update")
      .flag("scale_parameter", &Config::scale_parameter,
            "adafactor: scale updates by the root mean square of the parameter")
      .flag("relative_step", &Config::relative_step,
            "adafactor: use the learning rate min(0.01, 1/sqrt(t)) instead of the schedule");
}

OptionTable<ScheduleOptions> schedule_table() {
  using Config = ScheduleOptions;
  return OptionTable<Config>()
      .choice("type", &Config::kind, schedules(), "NAME", "course of the learning rate after the warm-up")
      .number("learning_rate", &Config::learning_rate, kPositive, "X", "highest learning rate; for noam: a factor")
      .number("warmup", &Config::warmup, kFromZero, "N", "number of updates in which the learning rate rises from 0")
      .number("final_learning_rate", &Config::final_learning_rate, {.least = 0, .most = 1e30}, "X",
              "learning rate of the last update, or the minimum; unused by inverse-sqrt, noam and constant")
      .number("power", &Config::power, {.least = 0, .most = 100, .least_included = false}, "X",
              "polynomial: power of the remaining share of the updates")
      .number("cycle", &Config::cycle, {.least = 2, .most = kMany}, "N",
              "cyclic: number of updates from one peak to the next")
      .number("cycle_decay", &Config::cycle_decay, {.least = 0, .most = 1, .least_included = false}, "X",
              "cyclic: factor of the height of the next peak")
      .number("decay", &Config::decay, kFromOne, "N",
              "warmup-stable-decay: number of updates at the end in which the rate falls")
      .choice("decay_shape", &Config::decay_shape,
              {{"linear", DecayShape::kLinear},
               {"cosine", DecayShape::kCosine},
               {"one-minus-sqrt", DecayShape::kOneMinusSqrt}},
              "NAME", "warmup-stable-decay: shape of the decay")
      .nested("plateau", &Config::plateau, plateau_table());
}

OptionTable<LossScaleConfig> loss_scale_table() {
  using Config = LossScaleConfig;
  constexpr core::NumberRange<std::int64_t> kScale{.least = 1, .most = std::int64_t{1} << 40};
  return OptionTable<Config>()
      .number("initial", &Config::initial, kScale, "N", "fp16: initial factor of the loss's gradient; a power of two")
      .number("least", &Config::least, kScale, "N",
              "fp16: minimum factor; at this factor, on_non_finite handles a gradient that is not finite")
      .number("most", &Config::most, kScale, "N", "fp16: maximum factor")
      .number("grow_after", &Config::grow_after, kFromZero, "N",
              "fp16: number of updates in a row with finite gradients after which the factor is doubled; 0: never");
}

OptionTable<GuidedAlignmentConfig> guided_alignment_table() {
  using Config = GuidedAlignmentConfig;
  using ops::AlignmentCost;
  return OptionTable<Config>()
      .number("weight", &Config::weight, {.least = 0, .most = 1000}, "X",
              "weight of the loss between the attention of the model's alignment_layer and the alignments of "
              "data.train, if there are any; 0: off")
      .choice("cost", &Config::cost,
              {{"cross-entropy", AlignmentCost::kCrossEntropy},
               {"mean-squared-error", AlignmentCost::kMeanSquaredError},
               {"multiplication", AlignmentCost::kMultiplication}},
              "NAME", "kind of this loss");
}

OptionTable<WordDropoutConfig> word_dropout_table() {
  using Config = WordDropoutConfig;
  return OptionTable<Config>()
      .number("source", &Config::source, kBelowOne, "P", "probability that a source piece is read as the unknown token")
      .number("target", &Config::target, kBelowOne, "P",
              "probability that an input piece of the decoder is read as the unknown token; predicted pieces are "
              "unchanged");
}

std::vector<std::pair<std::string_view, SmoothingKind>> smoothing_kinds() {
  return {{"uniform", SmoothingKind::kUniform}, {"others", SmoothingKind::kOthers}};
}

std::vector<std::pair<std::string_view, NonFinitePolicy>> non_finite_policies() {
  return {{"stop", NonFinitePolicy::kStop}, {"skip", NonFinitePolicy::kSkip}, {"restore", NonFinitePolicy::kRestore}};
}

}  // namespace dragoman::training
