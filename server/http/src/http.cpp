#include <algorithm>
#include <array>
#include <atomic>

#include <dragoman/core/ascii.h>
#include <dragoman/core/json.h>
#include <dragoman/server/http.h>

namespace dragoman::server::http {

std::string_view Headers::get(std::string_view name) const noexcept {
  for (const auto& [field, value] : fields_)
    if (core::equal_ignoring_ascii_case(field, name)) return value;
  return {};
}

bool Headers::has(std::string_view name) const noexcept {
  return std::ranges::any_of(fields_,
                             [&](const Field& field) { return core::equal_ignoring_ascii_case(field.first, name); });
}

void Headers::set(std::string name, std::string value) {
  remove(name);
  add(std::move(name), std::move(value));
}

void Headers::add(std::string name, std::string value) {
  fields_.emplace_back(std::move(name), std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Field& field) { return core::equal_ignoring_ascii_case(field.first, name); });
}

std::string_view Request::query_value(std::string_view name) const noexcept {
  for (const auto& [own, value] : query)
    if (own == name) return value;
  return {};
}

Response json_response(int status, std::string json) {
  return {.status = status, .content_type = "application/json", .body = std::move(json)};
}

Response error_response(int status, std::string_view message) {
  const core::Json json{{"error", message}};
  return json_response(status, json.dump(-1, ' ', false, core::Json::error_handler_t::replace) + "\n");
}

std::string_view reason_phrase(int status) noexcept {
  static constexpr std::array<std::pair<int, std::string_view>, 28> kPhrases{{
      {100, "Continue"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {411, "Length Required"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {422, "Unprocessable Content"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {456, "Quota Exceeded"},
      {500, "Internal Server Error"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
  }};
  const auto found = std::ranges::find(kPhrases, status, &std::pair<int, std::string_view>::first);
  return found == kPhrases.end() ? std::string_view("Unknown") : found->second;
}

struct Stream::State {
  explicit State(std::shared_ptr<Exchange> to) : exchange(std::move(to)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    try {
      finish();
    } catch (const std::exception&) {
      // Without memory for the last step; the connection ends when its time is up.
    }
  }
  void finish() {
    if (!finished.exchange(true)) exchange->finish();
  }

  std::shared_ptr<Exchange> exchange;
  std::atomic<bool> finished{false};
};

Stream::Stream(std::shared_ptr<Exchange> exchange) : state_(std::make_shared<State>(std::move(exchange))) {}

bool Stream::write(std::string_view part) {
  return !state_->finished && state_->exchange->write(part);
}

void Stream::finish() {
  state_->finish();
}

struct Reply::State {
  explicit State(std::shared_ptr<Exchange> to) : exchange(std::move(to)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    try {
      if (claim()) exchange->send(error_response(500, "the server did not answer this request; try again"));
    } catch (const std::exception&) {
      // Without memory for the answer; the connection ends when its time is up.
    }
  }
  /// Returns whether the caller is the first to answer.
  bool claim() { return !answered.exchange(true); }

  std::shared_ptr<Exchange> exchange;
  std::atomic<bool> answered{false};
};

Reply::Reply(std::shared_ptr<Exchange> exchange) : state_(std::make_shared<State>(std::move(exchange))) {}

void Reply::send(Response response) {
  if (state_->claim()) state_->exchange->send(std::move(response));
}

Stream Reply::begin(Response head) {
  if (!state_->claim()) {
    Stream nothing(state_->exchange);
    nothing.state_->finished = true;
    return nothing;
  }
  state_->exchange->begin(std::move(head));
  return Stream(state_->exchange);
}

}  // namespace dragoman::server::http
