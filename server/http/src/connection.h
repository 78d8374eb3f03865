#pragma once

#include "request_parser.h"
#include "transport.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <dragoman/server/http_server.h>

namespace dragoman::server::http {

struct ServerCore;
class Answer;

/// Returns the time in ticks of the clock, at most 30 years, so that it can be added to any time point.
std::chrono::steady_clock::duration in_ticks(std::chrono::duration<double> time);

/// One client's connection: reads a request, has it handled, writes the answer, and so on. All of it runs on the
/// executor of its socket, one function at a time, except the constructor and what is called from any thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(std::shared_ptr<ServerCore> core, std::unique_ptr<Transport> transport, std::string peer);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  void start();
  /// Closes it if no request has begun; otherwise after the answer.
  void drain();
  /// Stops Request::gone and gives the handler its last time.
  void hurry();
  /// Closes it at once.
  void close();

  // For Answer:
  void answer(std::uint64_t number, Response response);
  void begin_stream(std::uint64_t number, Response head, std::shared_ptr<Answer> stream);
  void flush(std::uint64_t number);

  const std::string& peer() const noexcept { return peer_; }
  boost::asio::any_io_executor executor() { return transport_->socket().get_executor(); }
  /// When it began to wait for a request; nothing if it has one. From any thread.
  std::optional<Clock::time_point> idle_since() const noexcept;
  /// The bytes that the server holds because the client has not sent or read the rest. From any thread.
  std::size_t waiting_bytes() const noexcept { return waiting_bytes_; }
  /// Sets waiting_bytes() to 0, so that the next call of ServerCore::make_room() does not choose this connection again.
  void give_way_soon() noexcept { waiting_bytes_ = 0; }
  /// Frees the memory of an unfinished request with status 503, and that of an unread answer by closing the connection.
  void give_way();

 private:
  enum class Phase {
    kHandshake,
    kIdle,  ///< nothing of the next request has come
    kHead,
    kBody,
    kAnswering,  ///< until the answer is written
    kLingering,  ///< the answer is written; what the client still sends is dropped, so that the answer arrives
    kClosed,
  };
  struct Part {
    std::string bytes;
    bool of_stream = false;
  };

  /// Runs one step; closes the connection if it throws.
  template <class Step>
  void guard(Step&& step) noexcept {
    try {
      step();
    } catch (const std::exception& error) {
      close_after(error);
    }
  }
  void close_after(const std::exception& error) noexcept;
  void enter(Phase phase);
  void read();
  void on_read(Transport::Error error, std::size_t bytes);
  void on_end(Transport::Error error);
  void process();
  void after_head();
  void dispatch();
  std::string client_address(const Headers& headers) const;
  /// Answers a request that no handler sees, and closes the connection.
  void refuse(int status, std::string reason);
  void write(std::string bytes, bool of_stream = false);
  void write_next();
  void on_written(Transport::Error error, std::size_t bytes);
  void finish_answer();
  void linger();
  void leave();
  void charge();

  Clock::time_point due() const;
  void arm();
  void on_timer();
  void on_due();

  std::shared_ptr<ServerCore> core_;
  std::unique_ptr<Transport> transport_;
  const std::string peer_;
  boost::asio::steady_timer timer_;
  Clock::time_point armed_ = Clock::time_point::max();  ///< when the timer fires
  std::uint64_t timer_number_ = 0;

  Phase phase_ = Phase::kHandshake;
  Clock::time_point phase_start_;
  Clock::time_point answer_due_ = Clock::time_point::max();
  std::atomic<Clock::rep> idle_since_;  ///< of Clock; -1 if it has a request
  bool draining_ = false;

  std::string buffer_;  ///< that a read fills
  bool reading_ = false;
  bool client_ended_ = false;
  std::string input_;  ///< read, not parsed
  std::unique_ptr<RequestParser> parser_;
  std::size_t request_bytes_ = 0;  ///< of the body that the handler has
  std::size_t charged_ = 0;
  std::atomic<std::size_t> waiting_bytes_{0};
  bool in_flight_ = false;
  std::size_t lingered_ = 0;

  std::uint64_t number_ = 0;  ///< of the request
  bool answered_ = false;
  bool last_time_ = false;  ///< Request::gone has stopped
  bool head_only_ = false;
  bool http_1_0_ = false;
  bool keeps_alive_ = false;
  std::stop_source gone_;
  std::shared_ptr<Answer> stream_;
  bool stream_ended_ = false;

  std::deque<Part> output_;
  std::size_t output_bytes_ = 0;  ///< not yet written
  std::size_t offset_ = 0;        ///< written of the first part
  bool writing_ = false;
  Clock::time_point write_start_;
  std::size_t written_ = 0;  ///< since write_start_
};

}  // namespace dragoman::server::http
