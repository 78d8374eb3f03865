#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/server/router.h>

namespace dragoman::server::http {
namespace {

constexpr std::string_view kParameter = "{name}";

/// Returns whether the path is one of the pattern's, and what its parameter matched.
bool matches(std::string_view pattern, std::string_view path, std::string& parameter) {
  const std::size_t place = pattern.find(kParameter);
  if (place == std::string_view::npos) return pattern == path;
  const std::string_view before = pattern.substr(0, place);
  const std::string_view after = pattern.substr(place + kParameter.size());
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after)) return false;
  const std::string_view value = path.substr(before.size(), path.size() - before.size() - after.size());
  if (value.find('/') != std::string_view::npos) return false;
  parameter = value;
  return true;
}

}  // namespace

void Router::add(Route route) {
  const std::string_view pattern = route.pattern;
  std::string fixed(pattern);
  if (const std::size_t place = fixed.find("/{name}"); place != std::string::npos) fixed.erase(place, 7);
  core::require(pattern.starts_with('/') && fixed.find_first_of("{}?#") == std::string::npos,
                core::ErrorCode::kInvalidArgument, "route '{}': a pattern begins with '/', and one segment may be {}",
                pattern, kParameter);
  for (const Route& other : routes_)
    core::require(other.method != route.method || other.pattern != route.pattern, core::ErrorCode::kInvalidArgument,
                  "route '{} {}' is there twice", route.method, route.pattern);
  routes_.push_back(std::move(route));
}

Router::Match Router::find(std::string_view method, std::string_view path) const {
  Match match;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  bool exact = false;  // a route without a parameter is preferred
  for (const Route& route : routes_) {
    std::string parameter;
    if (!matches(route.pattern, path, parameter)) continue;
    match.allowed.push_back(route.method);
    if (route.method == "GET") match.allowed.emplace_back("HEAD");
    if (route.method != wanted || exact) continue;
    exact = route.pattern.find(kParameter) == std::string::npos;
    match.route = &route;
    match.parameter = std::move(parameter);
  }
  if (!match.allowed.empty()) match.allowed.emplace_back("OPTIONS");
  std::ranges::sort(match.allowed);
  match.allowed.erase(std::unique(match.allowed.begin(), match.allowed.end()), match.allowed.end());
  return match;
}

void Router::serve(Request request, Reply reply) const {
  Match match = find(request.method, request.path);
  if (match.route != nullptr) {
    request.parameter = std::move(match.parameter);
    match.route->handler(std::move(request), std::move(reply));
    return;
  }
  if (match.allowed.empty()) {
    reply.send(error_response(404, fmt::format("nothing is at '{}' on this server", request.path)));
    return;
  }
  const std::string allowed = fmt::format("{}", fmt::join(match.allowed, ", "));
  Response response = request.method == "OPTIONS"
                          ? Response{.status = 204}
                          : error_response(405, fmt::format("{} is not a method of '{}'; use {}", request.method,
                                                            request.path, allowed));
  response.headers.set("Allow", allowed);
  reply.send(std::move(response));
}

}  // namespace dragoman::server::http
