#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/server/http.h>

namespace dragoman::server::http {

/// Why a request is not passed to its handler.
struct Refusal {
  enum class Cause {
    kMissingKey,  ///< 401
    kInvalidKey,  ///< 403
    kTooMany,     ///< 429: more requests than the key or the address may send
  };
  Cause cause = Cause::kMissingKey;
  int status = 401;
  std::string reason = {};              ///< a sentence: the reason and the remedy
  std::chrono::seconds retry_after{0};  ///< 0: not stated
};

/// Whether a route needs a key if the server has keys.
enum class Access {
  kKey,
  kOpen,  ///< as /health and the files of the page
};

/// A path of the server and what is done with it.
struct Route {
  std::string method = {};  ///< "GET" serves HEAD, too
  /// A path. One of its segments may be `{name}`, which matches any segment: "/download_file/{name}".
  std::string pattern = {};
  Handler handler = {};

  // How a dialect deals with callers. The defaults suit an interface of one's own.
  Access access = Access::kKey;
  /// Finds the caller's key where clients of the dialect send it. Returns an empty text if it is not there; then
  /// `Authorization: Bearer KEY` and `X-API-Key: KEY` are used, as on every route.
  std::function<std::string(const Request&)> find_key = {};
  /// Words a refusal; status and Retry-After are set afterwards if the answer has none. Default: {"error": reason}. A
  /// dialect may answer another status than the refusal's.
  std::function<Response(const Request&, const Refusal&)> refuse = {};
};

/// The routes of a server. Thread-safe after the last add().
class Router {
 public:
  struct Match {
    const Route* route = nullptr;      ///< null: no route has this path and method
    std::string parameter;             ///< what `{name}` matched
    std::vector<std::string> allowed;  ///< the methods of the path, sorted; empty: no route has this path
  };

  /// Throws Error{kInvalidArgument} if the method and the path are taken, or if the pattern is no path.
  void add(Route route);
  Match find(std::string_view method, std::string_view path) const;
  /// Calls the handler of the request's route. Answers 404, 405 (with Allow) and OPTIONS itself.
  void serve(Request request, Reply reply) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace dragoman::server::http
