#pragma once

#include <cstdint>
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
    /// Validations in a row without a new best until exhausted(); 0: never.
    std::int64_t patience = 0;
    /// How many of the best updates ranking() remembers, at least 1.
    std::int64_t remember = 1;
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
    stale_ = 0;
  }
  /// Takes over what save() gave. `where` is for messages.
  void restore(const core::Json& json, const std::string& where);

 private:
  bool better(double a, double b) const noexcept { return options_.higher_is_better ? a > b : a < b; }

  Options options_;
  std::vector<ScoredUpdate> ranking_;
  std::int64_t stale_ = 0;
};

}  // namespace dragoman::training
