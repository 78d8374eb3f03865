#pragma once

#include <algorithm>
#include <cstddef>

namespace dragoman::tokenizer {

/// The number of steps that all searches of one text may take together, forwards and backwards. The budget is linear in
/// the length of the text. core::default_stop() ends a search within a fraction of a second, however long the text is.
class SearchWork {
 public:
  explicit SearchWork(std::size_t bytes)
      : left_(std::min(kFreeSteps + kStepsPerByte * bytes, kMaxFreeSteps + kStepsPerByteOfLongTexts * bytes)),
        next_check_(left_ - std::min(left_, kStepsBetweenChecks)) {}

  /// Takes `steps` from the budget. Returns false if fewer are left, or if a stop was requested.
  bool take(std::size_t steps = 1) noexcept {
    if (steps > left_) return false;
    left_ -= steps;
    return left_ > next_check_ || may_go_on();
  }

  /// Throws Error{kInterrupted} if take() returned false because of a stop request.
  void require_not_stopped() const;

 private:
  static constexpr std::size_t kFreeSteps = std::size_t{1} << 20;
  static constexpr std::size_t kStepsPerByte = 512;
  static constexpr std::size_t kMaxFreeSteps = std::size_t{1} << 26;
  static constexpr std::size_t kStepsPerByteOfLongTexts = 64;
  static constexpr std::size_t kStepsBetweenChecks = std::size_t{1} << 18;

  bool may_go_on() noexcept;

  std::size_t left_;
  std::size_t next_check_;  ///< steps that are left when the stop is checked
};

}  // namespace dragoman::tokenizer
