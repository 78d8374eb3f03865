#pragma once

#include <cstddef>
#include <stop_token>

namespace dragoman::core {

/// Makes the work of this thread stoppable until the end of the scope. It carries the token of a public function
/// through interfaces that take none: tokenizers, metrics, readers and writers of models.
///
///     std::stop_source stop;
///     const StopScope scope(stop.get_token());
///     const Json tree = load_json("tokenizer.json");     // json.h; Error{kInterrupted} after stop.request_stop()
///
/// In this thread, and until the end of the scope:
///
/// - Long computations check the token with check_stop().
/// - default_stop() returns the token, so waits for pipes and searches of regular expressions end, too.
///
/// Other threads are not affected: if blocks of work are long, each thread of an executor needs a scope. A token
/// through which no stop can be requested changes nothing. An inner scope replaces an outer one.
///
/// A program's set_default_stop() does not stop computations, because a program that is interrupted still saves its
/// work.
class StopScope {
 public:
  explicit StopScope(std::stop_token stop) noexcept;
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  /// Returns the token of this thread's scope, to open one in another thread. Without a scope, an empty token.
  static std::stop_token current() noexcept;

 private:
  std::stop_token stop_;
  const std::stop_token* outer_;
};

/// Throws Error{kInterrupted}, "interrupted while DOING", if this thread is in a scope whose stop is requested. Costs a
/// few nanoseconds. To be called several times in a tenth of a second.
void check_stop(const char* doing);

/// Calls check_stop() from time to time, for loops whose steps take a few nanoseconds.
///
///     const std::vector<std::string> lines(1000, "one line");
///     std::int64_t spaces = 0;
///     StopCheck check("counting spaces");
///     for (const std::string& line : lines) {
///       check(line.size());
///       spaces += std::count(line.begin(), line.end(), ' ');
///     }
class StopCheck {
 public:
  /// `doing` must outlive the object.
  explicit StopCheck(const char* doing) noexcept : doing_(doing) {}

  /// `steps` is the number of steps since the last call, each of one to a hundred nanoseconds.
  void operator()(std::size_t steps = 1) {
    if (steps < left_) {
      left_ -= steps;
      return;
    }
    left_ = kPeriod;
    check_stop(doing_);
  }

 private:
  static constexpr std::size_t kPeriod = std::size_t{1} << 16;

  const char* doing_;
  std::size_t left_ = kPeriod;
};

}  // namespace dragoman::core
