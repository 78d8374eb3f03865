#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dragoman::cli {

/// Runs reloads in a separate thread, one at a time. Requests that come during a reload share the next one.
class ReloadWorker {
 public:
  using Done = std::function<void(std::string problem)>;

  /// `reload` may take long. It throws std::exception if it fails.
  explicit ReloadWorker(std::function<void()> reload);
  ReloadWorker(const ReloadWorker&) = delete;
  ReloadWorker& operator=(const ReloadWorker&) = delete;
  ~ReloadWorker() { end(); }

  /// Requests a reload and returns. `done` is called with the reason of a failure, or with "".
  void request(Done done);
  /// Waits for a reload in progress, and drops all others. Later requests fail.
  void end();

 private:
  void run();

  std::function<void()> reload_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Done> waiting_;
  bool ended_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace dragoman::cli
