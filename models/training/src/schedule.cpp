#include "dragoman/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <dragoman/core/error.h>

namespace dragoman::training {
namespace {

/// How far from the end of the warm-up to the last update, 0 to 1.
double progress_after_warmup(double update, double warmup, double updates) {
  return updates > warmup ? std::min(1.0, (update - warmup) / (updates - warmup)) : 1.0;
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
  }
  return "";
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
    default:
      return peak;
  }
}

}  // namespace dragoman::training
