#include "dragoman/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <dragoman/core/error.h>

namespace dragoman::training {
namespace {

/// Returns the progress from the end of the warm-up to the last update, 0 to 1.
double progress_after_warmup(double update, double warmup, double updates) {
  return updates > warmup ? std::min(1.0, (update - warmup) / (updates - warmup)) : 1.0;
}

/// Returns the share of p - f of a triangle wave, `since` updates after a peak.
double share_of_cycle(double since, const ScheduleOptions& options) {
  const double position = since / static_cast<double>(options.cycle);
  const double height = std::abs(1 - 2 * (position - std::floor(position)));
  return height * std::pow(options.cycle_decay, std::floor(position + 0.5));
}

double share_of_decay(double update, const ScheduleOptions& options, const ScheduleScope& scope) {
  const auto decay = static_cast<double>(options.decay);
  const double x = std::clamp((update - (static_cast<double>(scope.updates) - decay)) / decay, 0.0, 1.0);
  switch (options.decay_shape) {
    case DecayShape::kCosine:
      return (1 + std::cos(std::numbers::pi * x)) / 2;
    case DecayShape::kOneMinusSqrt:
      return 1 - std::sqrt(x);
    default:
      return 1 - x;
  }
}

}  // namespace

std::string_view name_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kInverseSqrt:
      return "inverse-sqrt";
    case ScheduleKind::kNoam:
      return "noam";
    case ScheduleKind::kLinear:
      return "linear";
    case ScheduleKind::kCosine:
      return "cosine";
    case ScheduleKind::kConstant:
      return "constant";
    case ScheduleKind::kPolynomial:
      return "polynomial";
    case ScheduleKind::kPlateau:
      return "plateau";
    case ScheduleKind::kCyclic:
      return "cyclic";
    case ScheduleKind::kWsd:
      return "warmup-stable-decay";
  }
  return "";
}

bool needs_end(ScheduleKind kind) {
  return kind == ScheduleKind::kLinear || kind == ScheduleKind::kCosine || kind == ScheduleKind::kPolynomial ||
         kind == ScheduleKind::kWsd;
}

double learning_rate_at(std::int64_t update, const ScheduleOptions& options, const ScheduleScope& scope) {
  core::require(update >= 1, core::ErrorCode::kInvalidArgument, "learning rate schedule: updates count from 1, not {}",
                update);
  const auto t = static_cast<double>(update);
  const auto w = static_cast<double>(std::max<std::int64_t>(options.warmup, 1));
  const double peak = options.learning_rate;
  if (options.kind == ScheduleKind::kNoam)
    return peak / std::sqrt(static_cast<double>(scope.model_width)) *
           std::min(1 / std::sqrt(t), t / (w * std::sqrt(w)));
  if (t < w) return peak * t / w;
  const double final_rate = options.final_learning_rate;
  const double progress = progress_after_warmup(t, w, static_cast<double>(scope.updates));
  switch (options.kind) {
    case ScheduleKind::kInverseSqrt:
      return peak * std::sqrt(w / t);
    case ScheduleKind::kLinear:
      return peak + (final_rate - peak) * progress;
    case ScheduleKind::kCosine:
      return final_rate + (peak - final_rate) * (1 + std::cos(std::numbers::pi * progress)) / 2;
    case ScheduleKind::kPolynomial:
      return final_rate + (peak - final_rate) * std::pow(1 - progress, options.power);
    case ScheduleKind::kPlateau:
      return std::max(final_rate, peak * std::pow(options.plateau.factor, static_cast<double>(scope.reductions)));
    case ScheduleKind::kCyclic:
      return final_rate + (peak - final_rate) * share_of_cycle(t - w, options);
    case ScheduleKind::kWsd:
      return final_rate + (peak - final_rate) * share_of_decay(t, options, scope);
    default:
      return peak;
  }
}

double relative_step_at(std::int64_t update) {
  return std::min(1e-2, 1 / std::sqrt(static_cast<double>(update)));
}

}  // namespace dragoman::training
