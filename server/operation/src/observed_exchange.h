#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <dragoman/server/http.h>

namespace dragoman::server {

/// The facts about an answer that has ended.
struct Observation {
  int status = 0;
  std::size_t bytes = 0;  ///< of the body
  std::string text{};     ///< the beginning of the body, if it is kept
};

/// Passes an answer on to the client, and reports it when it is complete.
class ObservedExchange final : public http::Exchange {
 public:
  using Decorate = std::function<void(http::Response&)>;
  using Report = std::function<void(const Observation&)>;

  /// `decorate` adds header fields. `kept_text`: bytes of the body for the report.
  ObservedExchange(http::Reply reply, std::size_t kept_text, Decorate decorate, Report report);

  void send(http::Response response) override;
  void begin(http::Response head) override;
  bool write(std::string_view part) override;
  void finish() override;

 private:
  void keep(std::string_view part);

  http::Reply reply_;
  const std::size_t kept_text_;
  Decorate decorate_;
  Report report_;
  std::optional<http::Stream> stream_;
  Observation seen_;
};

}  // namespace dragoman::server
