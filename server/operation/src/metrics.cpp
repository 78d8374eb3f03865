#include <algorithm>

#include <fmt/format.h>

#include <dragoman/server/metrics.h>

namespace dragoman::server {
namespace {

std::string label_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n')
      escaped += "\\n";
    else
      escaped += c;
  }
  return escaped;
}

void add_head(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

/// Returns the entry of `name`, which is made if it is new.
template <class Value>
Value& entry_of(std::map<std::string, Value, std::less<>>& entries, std::string_view name) {
  auto found = entries.find(name);
  if (found == entries.end()) found = entries.emplace(std::string(name), Value{}).first;
  return found->second;
}

}  // namespace

void Metrics::add(std::string name, Kind kind, std::string help, std::function<double()> value) {
  figures_.push_back({std::move(name), kind, std::move(help), std::move(value)});
}

void Metrics::count_request(std::string_view route, int status, std::chrono::duration<double> time) {
  const std::lock_guard lock(mutex_);
  RouteFigures& figures = entry_of(routes_, route);
  ++figures.by_class[static_cast<std::size_t>(std::clamp(status / 100, 0, 5))];
  ++figures.count;
  figures.seconds += time.count();
  for (std::size_t i = 0; i < kBounds.size(); ++i)
    if (time.count() <= kBounds[i]) ++figures.by_time[i];
}

void Metrics::count_refusal(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  ++entry_of(refusals_, reason);
}

std::string Metrics::text() const {
  std::string text;
  for (const Figure& figure : figures_) {
    add_head(text, figure.name, figure.kind == Kind::kGauge ? "gauge" : "counter", figure.help);
    text += fmt::format("{} {}\n", figure.name, figure.value());
  }
  const std::lock_guard lock(mutex_);
  add_head(text, "dragoman_http_requests_total", "counter", "Answers by route and class of status.");
  for (const auto& [route, figures] : routes_)
    for (std::size_t i = 0; i < figures.by_class.size(); ++i)
      if (figures.by_class[i] != 0)
        text += fmt::format("dragoman_http_requests_total{{route=\"{}\",status=\"{}xx\"}} {}\n", label_text(route), i,
                            figures.by_class[i]);
  add_head(text, "dragoman_http_request_seconds", "histogram", "Time from the end of a request to its answer.");
  for (const auto& [route, figures] : routes_) {
    const std::string label = label_text(route);
    for (std::size_t i = 0; i < kBounds.size(); ++i)
      text += fmt::format("dragoman_http_request_seconds_bucket{{route=\"{}\",le=\"{}\"}} {}\n", label, kBounds[i],
                          figures.by_time[i]);
    text += fmt::format("dragoman_http_request_seconds_bucket{{route=\"{}\",le=\"+Inf\"}} {}\n", label, figures.count);
    text += fmt::format("dragoman_http_request_seconds_sum{{route=\"{}\"}} {}\n", label, figures.seconds);
    text += fmt::format("dragoman_http_request_seconds_count{{route=\"{}\"}} {}\n", label, figures.count);
  }
  add_head(text, "dragoman_http_refused_total", "counter", "Requests and connections that were refused, by reason.");
  for (const auto& [reason, count] : refusals_)
    text += fmt::format("dragoman_http_refused_total{{reason=\"{}\"}} {}\n", label_text(reason), count);
  return text;
}

}  // namespace dragoman::server
