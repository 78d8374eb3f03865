#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <dragoman/core/json_fwd.h>

namespace dragoman::training {

/// The learning rate at update t, counted from 1. w is the warm-up, p the peak (`learning_rate`), f
/// `final_learning_rate`, and n the total number of updates:
enum class ScheduleKind : std::uint8_t {
  kInverseSqrt,  ///< p * t/w up to w, then p * sqrt(w/t) (fairseq's inverse_sqrt)
  kNoam,         ///< p * d^-0.5 * min(t^-0.5, t * w^-1.5) (Vaswani et al. 2017, eq. 3): here p is a factor
  kLinear,       ///< p * t/w up to w, then linear to f at n
  kCosine,       ///< p * t/w up to w, then f + (p - f) * (1 + cos(pi * (t-w)/(n-w))) / 2 (Loshchilov & Hutter 2017)
  kConstant,     ///< p * t/w up to w, then p
  kPolynomial,   ///< p * t/w up to w, then f + (p - f) * (1 - (t-w)/(n-w))^power (transformers)
  kPlateau,      ///< p * t/w up to w, then max(f, p * factor^k) after k reductions by a Plateau (PyTorch)
  kCyclic,       ///< p * t/w up to w, then linear up and down between p and f (Smith 2017)
  kWsd,          ///< p * t/w up to w, then p up to n - decay, then down to f (warm-up-stable-decay; Hu et al. 2024)
};

std::string_view name_of(ScheduleKind kind);

/// The remaining share of p - f after a share x of the decay of kWsd.
enum class DecayShape : std::uint8_t {
  kLinear,        ///< 1 - x
  kCosine,        ///< (1 + cos(pi x)) / 2
  kOneMinusSqrt,  ///< 1 - sqrt(x) (Hägele et al. 2024)
};

/// For kPlateau, as torch.optim.lr_scheduler.ReduceLROnPlateau in its mode `rel`.
struct PlateauOptions {
  double factor = 0.5;
  /// The number of validations without an improvement that are tolerated; the next one reduces the rate.
  std::int64_t patience = 2;
  /// The relative improvement of the best value that counts as an improvement.
  double threshold = 1e-4;
  /// The number of validations after a reduction that do not count.
  std::int64_t cooldown = 0;
};

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::kInverseSqrt;
  double learning_rate = 5e-4;
  std::int64_t warmup = 4000;
  double final_learning_rate = 0;
  double power = 1;           ///< for kPolynomial
  std::int64_t cycle = 2000;  ///< for kCyclic: updates from one peak to the next
  double cycle_decay = 1;     ///< factor of p - f in each valley
  std::int64_t decay = 1000;  ///< for kWsd: updates of the decay
  DecayShape decay_shape = DecayShape::kLinear;
  PlateauOptions plateau{};
};

/// The properties of a run that schedules depend on.
struct ScheduleScope {
  std::int64_t updates = 0;      ///< n; 0 if unbounded, which schedules that need it reject
  std::int64_t model_width = 1;  ///< d
  std::int64_t reductions = 0;   ///< k
};

/// Returns whether the learning rates of this kind depend on n.
bool needs_end(ScheduleKind kind);

/// Computes the learning rate at an update. A pure function of its arguments: the only state of a schedule is the
/// number of reductions of a Plateau. After update n, the rate of n applies.
///
///     const ScheduleOptions options{.kind = ScheduleKind::kInverseSqrt, .learning_rate = 5e-4, .warmup = 4000};
///     const double rate = learning_rate_at(1000, options, {});     // 1.25e-4
double learning_rate_at(std::int64_t update, const ScheduleOptions& options, const ScheduleScope& scope);

/// Computes Adafactor's relative step, before it is multiplied by the scale of a parameter: min(1e-2, 1 / sqrt(update))
/// (Shazeer & Stern 2018, section 9).
double relative_step_at(std::int64_t update);

/// Counts validations without an improvement, and the resulting reductions of the learning rate.
class Plateau {
 public:
  Plateau(const PlateauOptions& options, bool higher_is_better)
      : options_(options), higher_is_better_(higher_is_better) {}

  /// Takes the value of one validation. Returns whether the rate is reduced now. A non-finite value is no improvement.
  bool observe(double value);
  std::int64_t reductions() const noexcept { return reductions_; }

  core::Json save() const;
  /// Restores the result of save(). An empty object restores the initial state. `where` names the file in messages:
  /// Error{kBadInput}.
  void restore(const core::Json& json, const std::string& where);

 private:
  bool improves(double value) const;

  PlateauOptions options_;
  bool higher_is_better_;
  std::optional<double> best_;
  std::int64_t stale_ = 0;
  std::int64_t cooling_ = 0;
  std::int64_t reductions_ = 0;
};

}  // namespace dragoman::training
