#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <dragoman/server/http.h>

namespace dragoman::server::http {

class Connection;
struct ServerCore;

/// The Exchange of a request. It may outlive the server.
class Answer final : public Exchange, public std::enable_shared_from_this<Answer> {
 public:
  Answer(std::shared_ptr<ServerCore> core, std::weak_ptr<Connection> connection, std::uint64_t number);

  void send(Response response) override;
  void begin(Response head) override;
  bool write(std::string_view part) override;
  void finish() override;

  // For Connection:
  /// Moves what was written since the last call, in chunks if `chunked`. Sets `ended` if that is all.
  std::string take(bool chunked, bool& ended);
  void count_written(std::size_t bytes) noexcept { queued_ -= std::min(bytes, queued_.load()); }
  void stop() noexcept { stopped_ = true; }

 private:
  void request_flush();

  std::shared_ptr<ServerCore> core_;
  std::weak_ptr<Connection> connection_;
  const std::uint64_t number_;
  std::mutex mutex_;
  std::string pending_;
  bool flush_requested_ = false;
  bool ended_ = false;
  std::atomic<bool> stopped_{false};
  std::atomic<std::size_t> queued_{0};
};

}  // namespace dragoman::server::http
