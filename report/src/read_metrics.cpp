#include <algorithm>
#include <cmath>
#include <optional>

#include <dragoman/core/json.h>
#include <dragoman/core/utf8.h>
#include <dragoman/report/run_history.h>

namespace dragoman::report {
namespace {

using core::Json;

/// Returns the number at `key`, or 0 if there is none.
double number(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : 0.0;
}

std::string text(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool flag(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_boolean() && found->get<bool>();
}

/// Returns whether a number of a line specifies a time and is not a result.
bool says_when(const std::string& key) {
  return key == "update" || key == "epoch" || key == "seconds" || key == "target_tokens";
}

void add_figures(const Json& line, std::int64_t update, std::map<std::string, Series>& series) {
  for (const auto& [key, value] : line.items())
    if (value.is_number() && !says_when(key) && std::isfinite(value.get<double>()))
      series[key].emplace_back(update, value.get<double>());
}

/// Returns the training loss that is comparable with validation losses, i.e. without label smoothing, if the line has
/// it.
std::optional<double> cross_entropy(const Json& line) {
  if (line.contains("cross_entropy") && line["cross_entropy"].is_number()) return line["cross_entropy"].get<double>();
  const double perplexity = number(line, "perplexity");  // lines of earlier versions have nothing else
  return perplexity > 0 ? std::optional(std::log(perplexity)) : std::nullopt;
}

/// Renames losses so that the training and validation series of one name measure the same quantity.
Json with_comparable_loss(Json line) {
  const std::optional<double> loss = cross_entropy(line);
  if (!loss || !std::isfinite(*loss)) return line;
  const double trained = number(line, "loss");
  if (line.contains("loss") && line["loss"].is_number() && std::abs(trained - *loss) > 1e-9 * std::abs(*loss))
    line["smoothed_loss"] = trained;
  line["loss"] = *loss;
  line.erase("cross_entropy");
  return line;
}

void add_line(const Json& line, std::int64_t update, Metrics& metrics) {
  metrics.last_update = std::max(metrics.last_update, update);
  const std::string type = text(line, "type");
  if (type == "training") {
    add_figures(with_comparable_loss(line), update, metrics.training);
    const double seconds = number(line, "seconds");
    if (seconds > 0 && std::isfinite(seconds)) {
      metrics.seconds += seconds;
      metrics.training["tokens_per_second"].emplace_back(update, number(line, "target_tokens") / seconds);
    }
  } else if (type == "validation") {
    add_figures(line, update, metrics.validation);
    if (flag(line, "best")) metrics.best.push_back(update);
    const auto signatures = line.find("signatures");
    if (signatures == line.end() || !signatures->is_object()) return;
    for (const auto& [name, signature] : signatures->items())
      if (signature.is_string()) metrics.signatures[name] = signature.get<std::string>();
  } else if (type == "sample") {
    metrics.samples.push_back({.update = update,
                               .random = flag(line, "random"),
                               .source = text(line, "source"),
                               .prediction = text(line, "prediction"),
                               .reference = text(line, "reference")});
  }
}

}  // namespace

Metrics read_metrics(std::string_view lines) {
  Metrics metrics;
  for (std::uint64_t count = 1; !lines.empty(); ++count) {
    const std::size_t end = lines.find('\n');
    std::string repaired(lines.substr(0, end));
    core::replace_invalid_utf8(repaired);
    // Other lines are not parsed, since each error would build a message and a damaged file may have many such lines.
    const std::size_t first = repaired.find_first_not_of(" \t");
    const bool may_be_object = first != std::string::npos && repaired[first] == '{';
    const Json line = may_be_object ? core::try_parse_json(repaired).tree : Json();
    const bool readable = line.is_object() && line.contains("type") && line["type"].is_string() &&
                          line.contains("update") && line["update"].is_number_integer() &&
                          line["update"].get<double>() >= 0 && line["update"].get<double>() < 1e15;
    if (readable) {
      add_line(line, line["update"].get<std::int64_t>(), metrics);
    } else if (end == std::string_view::npos) {
      metrics.cut = true;
    } else if (++metrics.unreadable == 1) {
      metrics.first_unreadable = count;
    }
    if (end == std::string_view::npos) break;
    lines.remove_prefix(end + 1);
  }
  return metrics;
}

}  // namespace dragoman::report
