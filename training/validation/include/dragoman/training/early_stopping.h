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

/// Which validation was the best, and whether it is long enough ago to stop.
class EarlyStopping {
 public:
  struct Options {
    bool higher_is_better = true;
    /// Validations in a row without a new best, better by enough, until exhausted(); 0: never.
    std::int64_t patience = 0;
    /// How many of the best updates ranking() remembers, at least 1.
    std::int64_t remember = 1;
    /// By how much a value must be better than the last that counted for patience, to count itself.
    double minimum_improvement = 0;
  };
  explicit EarlyStopping(const Options& options) : options_(options) {}

  /// Takes the value of one validation; true if it is the best so far. A value that only equals the best is none, nor
  /// is one that is not finite, which ranking() leaves out.
  bool observe(std::int64_t update, double value);
  bool exhausted() const noexcept { return options_.patience > 0 && stale_ >= options_.patience; }
  /// The best updates so far, the best first; of equal values the earlier one.
  const std::vector<ScoredUpdate>& ranking() const noexcept { return ranking_; }
  std::int64_t validations_without_best() const noexcept { return stale_; }

  core::Json save() const;
  /// Forgets all values: what comes now cannot be compared with them.
  void restart() {
    ranking_.clear();
    counted_.reset();
    stale_ = 0;
  }
  /// Takes over what save() gave. `where` is for messages.
  void restore(const core::Json& json, const std::string& where);

 private:
  bool enough(double value) const noexcept;
  bool better(double a, double b) const noexcept { return options_.higher_is_better ? a > b : a < b; }

  Options options_;
  std::vector<ScoredUpdate> ranking_;
  /// The last value that was better by enough.
  std::optional<double> counted_;
  std::int64_t stale_ = 0;
};

}  // namespace dragoman::training
