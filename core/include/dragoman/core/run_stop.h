#pragma once

#include <stop_token>
#include <utility>

namespace dragoman::core {

/// The stop source of one run. The caller requests the stop through its token, or the run requests it when a part of it
/// fails. Everything that waits for input, for room or for work then ends.
///
///     std::stop_source caller;
///     const RunStop stop(caller.get_token());
///     caller.request_stop();
///     std::cout << stop.token().stop_requested();     // 1
///
/// Thread-safe.
class RunStop {
 public:
  explicit RunStop(std::stop_token caller) : forward_(std::move(caller), Forward{source_}) {}
  RunStop(const RunStop&) = delete;
  RunStop& operator=(const RunStop&) = delete;

  const std::stop_source& source() const noexcept { return source_; }
  std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  struct Forward {
    std::stop_source source;
    void operator()() noexcept { source.request_stop(); }
  };

  std::stop_source source_;
  std::stop_callback<Forward> forward_;
};

}  // namespace dragoman::core
