#pragma once

#include <functional>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>

#include <dragoman/training/validation.h>

namespace dragoman::training {

/// A validation on a separate thread during training; one at a time. Its owner uses it from one thread.
class ConcurrentValidation {
 public:
  using Work = std::function<ValidationResult(const std::stop_token&)>;

  ConcurrentValidation() = default;
  ConcurrentValidation(const ConcurrentValidation&) = delete;
  ConcurrentValidation& operator=(const ConcurrentValidation&) = delete;
  /// Requests a stop of a validation in progress, and waits for its end.
  ~ConcurrentValidation();

  /// Begins `work`; none may be in progress. If the operating system refuses a thread, the work is done immediately.
  void begin(Work work);
  /// Returns whether a validation was begun whose result has not been taken.
  bool under_way() const noexcept { return result_.valid(); }
  /// Returns whether take() would not wait.
  bool is_done() const;
  /// Waits for the result. Rethrows exceptions of the work. Afterwards, none is in progress.
  ValidationResult take();

 private:
  std::stop_source stop_;
  std::future<ValidationResult> result_;
  std::optional<std::jthread> thread_;
};

}  // namespace dragoman::training
