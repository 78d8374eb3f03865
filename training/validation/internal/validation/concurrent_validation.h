#pragma once

#include <functional>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>

#include <dragoman/training/validation.h>

namespace dragoman::training {

/// A validation on a thread of its own, while training goes on; one at a time. Its owner calls it from one thread.
class ConcurrentValidation {
 public:
  using Work = std::function<ValidationResult(const std::stop_token&)>;

  ConcurrentValidation() = default;
  ConcurrentValidation(const ConcurrentValidation&) = delete;
  ConcurrentValidation& operator=(const ConcurrentValidation&) = delete;
  /// Asks one that is under way to stop, and waits until it has.
  ~ConcurrentValidation();

  /// Begins `work`; none may be under way. Where the operating system has no thread to give, it is done at once.
  void begin(Work work);
  /// Whether one has begun whose result has not been taken.
  bool under_way() const noexcept { return result_.valid(); }
  /// Whether take() would not wait.
  bool is_done() const;
  /// Waits for the result. What the work threw comes from here; none is under way afterwards.
  ValidationResult take();

 private:
  std::stop_source stop_;
  std::future<ValidationResult> result_;
  std::optional<std::jthread> thread_;
};

}  // namespace dragoman::training
