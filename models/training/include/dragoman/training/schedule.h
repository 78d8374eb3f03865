#pragma once

#include <cstdint>
#include <string_view>

namespace dragoman::training {

/// Learning rate at update t, counted from 1, with w = warm-up, p = peak (`learning_rate`), f = `final_learning_rate`,
/// n = all updates:
enum class ScheduleKind : std::uint8_t {
  kInverseSqrt,  ///< p * t/w up to w, then p * sqrt(w/t) (fairseq's inverse_sqrt)
  kNoam,         ///< p * d^-0.5 * min(t^-0.5, t * w^-1.5) (Vaswani et al. 2017, eq. 3): here p is a factor
  kLinear,       ///< p * t/w up to w, then on a straight line to f at n
  kCosine,       ///< p * t/w up to w, then f + (p - f) * (1 + cos(pi * (t-w)/(n-w))) / 2 (Loshchilov & Hutter 2017)
  kConstant,     ///< p * t/w up to w, then p
};

std::string_view name_of(ScheduleKind kind);

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::kInverseSqrt;
  double learning_rate = 5e-4;
  std::int64_t warmup = 4000;
  double final_learning_rate = 0;
};

/// What a schedule needs to know of the run.
struct ScheduleScope {
  std::int64_t updates = 0;      ///< n; 0 if unbounded, which kLinear and kCosine do not allow
  std::int64_t model_width = 1;  ///< d
};

/// A pure function of its arguments: a schedule has no state to save. After n the rate stays at that of n.
double learning_rate_at(std::int64_t update, const ScheduleOptions& options, const ScheduleScope& scope);

}  // namespace dragoman::training
