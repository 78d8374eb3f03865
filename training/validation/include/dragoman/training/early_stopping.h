#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dragoman/core/json_fwd.h>

namespace dragoman::training {

struct ScoredUpdate {
  std::int64_t update = 0;
  double value = 0;
  bool operator==(const ScoredUpdate&) const = default;
};

/// Tracks the best validation, and whether it is long enough ago to stop.
///
///     EarlyStopping stopping({.higher_is_better = true, .patience = 5});
///     const bool best_so_far = stopping.observe(/*update=*/1000, /*value=*/31.5);
///     if (stopping.exhausted()) std::cout << "stop\n";
///
/// Not thread-safe.
class EarlyStopping {
 public:
  struct Options {
    bool higher_is_better = true;
    /// The number of validations in a row without a sufficiently better value until exhausted(). 0: never.
    std::int64_t patience = 0;
    /// The number of best updates that ranking() keeps, at least 1.
    std::int64_t remember = 1;
    /// The minimum improvement over the last value that counted for patience.
    double minimum_improvement = 0;
  };
  explicit EarlyStopping(const Options& options) : options_(options) {}

  /// Takes the value of one validation. Returns whether it is the best so far. A value that equals the best one is not,
  /// nor is a non-finite value, which ranking() leaves out.
  bool observe(std::int64_t update, double value);
  bool exhausted() const noexcept { return options_.patience > 0 && stale_ >= options_.patience; }
  /// Returns the best updates so far, best first. Of equal values, the earlier update is first.
  const std::vector<ScoredUpdate>& ranking() const noexcept { return ranking_; }
  std::int64_t validations_without_best() const noexcept { return stale_; }

  core::Json save() const;
  /// Forgets all values, because later ones are not comparable with them.
  void restart() {
    ranking_.clear();
    counted_.reset();
    stale_ = 0;
  }
  /// Restores the result of save(). `where` names the file in messages.
  void restore(const core::Json& json, const std::string& where);

 private:
  bool enough(double value) const noexcept;
  bool better(double a, double b) const noexcept { return options_.higher_is_better ? a > b : a < b; }

  Options options_;
  std::vector<ScoredUpdate> ranking_;
  /// The last value that was sufficiently better.
  std::optional<double> counted_;
  std::int64_t stale_ = 0;
};

}  // namespace dragoman::training
