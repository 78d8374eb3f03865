#include "access_log.h"
#include "observed_exchange.h"
#include "token_buckets.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/resident_memory.h>
#include <dragoman/server/keys.h>
#include <dragoman/server/operation.h>

namespace dragoman::server {
namespace {

using http::Refusal;
using http::Reply;
using http::Request;
using http::Response;
using Clock = std::chrono::steady_clock;

/// Callers whose rate is remembered: 100 bytes each.
constexpr std::size_t kMaxCallers = 100'000;
/// Bytes of a request and of an answer that are logged, if texts are.
constexpr std::size_t kLoggedText = 4096;
constexpr std::size_t kLongestMethod = 16;
constexpr std::string_view kOtherRoutes = "other";

std::string_view bearer_token(const Request& request) {
  const std::string_view value = request.headers.get("Authorization");
  constexpr std::string_view kScheme = "bearer ";
  const bool is_bearer = std::ranges::equal(value.substr(0, kScheme.size()), kScheme, [](char given, char lower) {
    return given == lower || (given >= 'A' && given <= 'Z' && given - 'A' + 'a' == lower);
  });
  return is_bearer ? value.substr(kScheme.size()) : std::string_view();
}

/// Returns the caller's key, from the dialect's own place or from the header fields that all routes accept. A field
/// that carries a key must be refused after a chunked body, too: see is_refused_in_trailers() of server/http.
std::string key_of(const http::Route& route, const Request& request) {
  std::string key = route.find_key ? route.find_key(request) : std::string();
  if (key.empty()) key = bearer_token(request);
  if (key.empty()) key = request.headers.get("X-API-Key");
  return key;
}

bool is_this_machine(const std::string& address) {
  return address == "::1" || address.starts_with("127.");
}

std::string_view name_of(Refusal::Cause cause) {
  switch (cause) {
    case Refusal::Cause::kMissingKey:
      return "missing_key";
    case Refusal::Cause::kInvalidKey:
      return "invalid_key";
    case Refusal::Cause::kTooMany:
      return "rate";
  }
  return "other";
}

/// Returns the reason of a refusal by the HTTP server, as a label.
std::string_view name_of_refusal(int status) {
  switch (status) {
    case 0:
      return "connections";
    case 408:
      return "slow";
    case 413:
    case 414:
    case 431:
      return "size";
    case 503:
      return "memory";
    default:
      return "malformed";
  }
}

}  // namespace

struct Operation::Impl : std::enable_shared_from_this<Operation::Impl> {
  Impl(const ServerOptions& given, OperationHooks given_hooks)
      : options(given), hooks(std::move(given_hooks)), keys(std::make_shared<const Keys>(read_keys())) {}

  Keys read_keys() const { return options.keys.empty() ? Keys() : Keys::read(options.keys); }

  std::shared_ptr<const Keys> current_keys() {
    const std::lock_guard lock(keys_mutex);
    return keys;
  }

  void serve(Request request, Reply reply) {
    http::Router::Match match = router.find(request.method, request.path);
    const auto seen = std::make_shared<Seen>(describe(request, match.route));
    Reply observed = observe(seen, std::move(reply));
    if (request.method == "OPTIONS" && request.headers.has("Access-Control-Request-Method") && !match.allowed.empty()) {
      answer_preflight(match, observed);
      return;
    }
    if (match.route != nullptr && match.route->access == http::Access::kKey) {
      const auto refusal = check(*match.route, request);
      seen->key = request.key;
      if (refusal) {
        refuse(*match.route, request, *refusal, observed);
        return;
      }
    }
    if (match.route == nullptr) {
      router.serve(std::move(request), std::move(observed));
      return;
    }
    request.parameter = std::move(match.parameter);
    match.route->handler(std::move(request), std::move(observed));
  }

  // --- Keys and rates -----------------------------------------------------------------------------------------------

  /// Returns why the caller may not make this request, or nothing; notes the caller in the request.
  std::optional<Refusal> check(const http::Route& route, Request& request) {
    request.character_limit = options.character_limit;
    int per_minute = options.requests_per_minute;
    request.caller = "address " + http::client_network(request.peer);
    if (!options.keys.empty()) {
      const std::string given = key_of(route, request);
      const auto all = current_keys();
      const Key* key = all->find(given);
      if (key != nullptr) {
        request.key = key->name;
        if (key->character_limit != 0) request.character_limit = key->character_limit;
        per_minute = key->requests_per_minute;
        request.caller = "key " + key->name;
      } else if (!given.empty()) {
        return Refusal{Refusal::Cause::kInvalidKey, 403, "the key is not valid", {}};
      } else if (!options.keys_optional) {
        return Refusal{Refusal::Cause::kMissingKey,
                       401,
                       options.key_link.empty() ? "this server needs a key; ask its operator for one"
                                                : "this server needs a key; get one at " + options.key_link,
                       {}};
      }
    }
    if (per_minute == 0) return std::nullopt;
    const auto wait = buckets.take(request.caller, per_minute);
    if (wait == Clock::duration::zero()) return std::nullopt;
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait);
    return Refusal{Refusal::Cause::kTooMany, 429,
                   fmt::format("there were more than {} requests in a minute; wait {} s", per_minute, seconds.count()),
                   seconds};
  }

  void refuse(const http::Route& route, const Request& request, const Refusal& refusal, Reply& reply) {
    metrics.count_refusal(name_of(refusal.cause));
    Response response =
        route.refuse ? route.refuse(request, refusal) : http::error_response(refusal.status, refusal.reason);
    if (response.status == 200) response.status = refusal.status;
    if (refusal.retry_after.count() != 0 && !response.headers.has("Retry-After"))
      response.headers.set("Retry-After", std::to_string(refusal.retry_after.count()));
    if (response.status == 401 && !response.headers.has("WWW-Authenticate"))
      response.headers.set("WWW-Authenticate", "Bearer");
    reply.send(std::move(response));
  }

  // --- CORS ---------------------------------------------------------------------------------------------------------

  bool allows_any() const { return std::ranges::find(options.allow_origin, "*") != options.allow_origin.end(); }

  void add_cors(const std::string& origin, Response& response) const {
    if (options.allow_origin.empty()) return;
    if (allows_any()) {
      response.headers.set("Access-Control-Allow-Origin", "*");
    } else {
      response.headers.add("Vary", "Origin");
      if (std::ranges::find(options.allow_origin, origin) == options.allow_origin.end()) return;
      response.headers.set("Access-Control-Allow-Origin", origin);
    }
    response.headers.set("Access-Control-Expose-Headers", "Retry-After");
  }

  void answer_preflight(const http::Router::Match& match, Reply& reply) const {
    Response response{.status = 204};
    response.headers.set("Allow", fmt::format("{}", fmt::join(match.allowed, ", ")));
    if (!options.allow_origin.empty()) {
      response.headers.set("Access-Control-Allow-Methods", fmt::format("{}", fmt::join(match.allowed, ", ")));
      response.headers.set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-API-Key");
      response.headers.set("Access-Control-Max-Age", "86400");
    }
    reply.send(std::move(response));
  }

  // --- Log and metrics ----------------------------------------------------------------------------------------------

  /// The parts of a request that the log and the metrics use. The handler owns the request itself.
  struct Seen {
    std::chrono::system_clock::time_point time = std::chrono::system_clock::now();
    Clock::time_point start = Clock::now();
    std::string method{}, route{}, key{}, address{}, path{}, body{}, origin{};
    std::size_t bytes = 0;
    std::stop_token gone{};
  };

  Seen describe(const Request& request, const http::Route* route) const {
    Seen seen;
    seen.method = request.method;
    // A method that no route has is the client's text.
    if (route == nullptr && seen.method.size() > kLongestMethod) seen.method.resize(kLongestMethod);
    seen.route = route == nullptr ? kOtherRoutes : std::string_view(route->pattern);
    seen.bytes = request.body.size();
    seen.gone = request.gone;
    seen.origin = request.headers.get("Origin");
    if (options.log_addresses) seen.address = request.peer;
    if (options.log_texts) {
      seen.path = request.path;
      seen.body = request.body.substr(0, kLoggedText);
    }
    return seen;
  }

  /// Wraps the reply, so that the answer is decorated, counted and logged.
  Reply observe(const std::shared_ptr<Seen>& seen, Reply reply) {
    // A reply may outlive the operation.
    const auto decorate = [self = shared_from_this(), seen](Response& response) {
      self->add_cors(seen->origin, response);
      if (!response.headers.has("X-Content-Type-Options")) response.headers.set("X-Content-Type-Options", "nosniff");
    };
    const auto report = [self = shared_from_this(), seen](const Observation& answer) {
      const std::chrono::duration<double> time = Clock::now() - seen->start;
      self->metrics.count_request(seen->route, answer.status, time);
      self->log({.time = seen->time,
                 .method = seen->method,
                 .route = seen->route,
                 .status = answer.status,
                 .seconds = time.count(),
                 .bytes_in = seen->bytes,
                 .bytes_out = answer.bytes,
                 .gone = seen->gone.stop_requested(),
                 .key = seen->key,
                 .address = seen->address,
                 .path = seen->path,
                 .request = seen->body,
                 .answer = answer.text});
    };
    return Reply(
        std::make_shared<ObservedExchange>(std::move(reply), options.log_texts ? kLoggedText : 0, decorate, report));
  }

  void log(const AccessRecord& record) const {
    if (hooks.log_line && options.log == LogFormat::kJson) hooks.log_line(access_line(record));
  }

  void answer_metrics(const Request& request, Reply& reply) const {
    const bool may = options.metrics_token.empty() ? is_this_machine(request.peer)
                                                   : same_secret(bearer_token(request), options.metrics_token);
    if (!may) {
      Response response = http::error_response(401, "the metrics need `Authorization: Bearer TOKEN`");
      response.headers.set("WWW-Authenticate", "Bearer");
      reply.send(std::move(response));
      return;
    }
    reply.send({.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.text()});
  }

  void answer_reload(const Request& request, const Reply& reply) const {
    if (!same_secret(bearer_token(request), options.admin_token)) {
      Response response = http::error_response(401, "this needs `Authorization: Bearer TOKEN`");
      response.headers.set("WWW-Authenticate", "Bearer");
      Reply(reply).send(std::move(response));
      return;
    }
    hooks.reload([reply](const std::string& problem) {
      Reply answer = reply;
      // The reason may name files of the server, so it is for its log.
      answer.send(problem.empty()
                      ? http::json_response(200, "{\"status\":\"ok\"}\n")
                      : http::error_response(500, "the reload failed, and the old models stay; see the server's log"));
    });
  }

  const ServerOptions options;
  const OperationHooks hooks;
  http::Router router;
  Metrics metrics;
  TokenBuckets buckets{kMaxCallers};
  std::mutex keys_mutex;
  std::shared_ptr<const Keys> keys;
};

Operation::Operation(const ServerOptions& options, OperationHooks hooks)
    : impl_(std::make_shared<Impl>(options, std::move(hooks))) {
  impl_->metrics.add("process_resident_memory_bytes", Metrics::Kind::kGauge, "Resident memory.",
                     [] { return static_cast<double>(core::resident_memory()); });
}
Operation::~Operation() = default;

http::Router& Operation::router() noexcept {
  return impl_->router;
}

Metrics& Operation::metrics() noexcept {
  return impl_->metrics;
}

void Operation::finish_routes() {
  Impl* impl = impl_.get();
  if (impl->router.find("GET", "/health").route == nullptr)
    impl->router.add(
        {.method = "GET",
         .pattern = "/health",
         .handler = [](Request, Reply reply) { reply.send(http::json_response(200, "{\"status\":\"ok\"}\n")); },
         .access = http::Access::kOpen});
  impl->router.add({.method = "GET",
                    .pattern = "/metrics",
                    .handler = [impl](const Request& request, Reply reply) { impl->answer_metrics(request, reply); },
                    .access = http::Access::kOpen});
  if (!impl->options.admin_token.empty() && impl->hooks.reload)
    impl->router.add(
        {.method = "POST",
         .pattern = "/admin/reload",
         .handler = [impl](const Request& request, const Reply& reply) { impl->answer_reload(request, reply); },
         .access = http::Access::kOpen});
}

http::ServerSetup Operation::setup() {
  const ServerOptions& options = impl_->options;
  return {.host = options.host,
          .port = options.port,
          .threads = options.http_threads,
          .limits = http_limits(options),
          .certificate = options.tls_certificate,
          .private_key = options.tls_key,
          .trusted_proxies = options.trusted_proxies,
          .refused = [impl = impl_.get()](int status, std::string_view peer, std::string_view reason) {
            impl->metrics.count_refusal(name_of_refusal(status));
            if (status == 0) return;  // the log must not grow with connections
            impl->log({.time = std::chrono::system_clock::now(),
                       .status = status,
                       .address = impl->options.log_addresses ? peer : std::string_view(),
                       .reason = reason});
          }};
}

http::Handler Operation::handler() {
  return [impl = impl_.get()](Request request, Reply reply) { impl->serve(std::move(request), std::move(reply)); };
}

std::function<void()> Operation::prepare_keys() {
  return [impl = impl_.get(), fresh = std::make_shared<const Keys>(impl_->read_keys())] {
    const std::lock_guard lock(impl->keys_mutex);
    impl->keys = fresh;
  };
}

}  // namespace dragoman::server
