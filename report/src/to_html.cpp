#include "page.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <dragoman/core/fingerprint.h>
#include <dragoman/core/json.h>
#include <dragoman/core/utf8.h>
#include <dragoman/report/run_history.h>

namespace dragoman::report {
namespace {

using core::Json;

// Limits of a readable page that browsers can display.
constexpr std::size_t kMaxPoints = 3000;
constexpr std::size_t kMaxSamples = 600;
constexpr std::size_t kLongestText = 2000;

/// Shortens the text to kLongestText bytes, at a character boundary.
std::string shortened(std::string text) {
  core::replace_invalid_utf8(text);
  if (text.size() <= kLongestText) return text;
  std::size_t end = kLongestText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

/// Long series lose inner points, never the first and the last.
Json as_json(const Series& series) {
  Json points = Json::array();
  const std::size_t step = series.size() / kMaxPoints + 1;
  for (std::size_t i = 0; i < series.size(); ++i)
    if (i % step == 0 || i + 1 == series.size()) points.push_back({series[i].first, series[i].second});
  return points;
}

/// Builds the object from a whole map, because adding a key to a Json object compares it with all others.
Json as_json(const std::map<std::string, Series>& group) {
  std::map<std::string, Json> shown;
  for (const auto& [key, series] : group) shown[shortened(key)] = as_json(series);
  return shown;
}

Json as_json(const std::vector<Sample>& samples) {
  Json json = Json::array();
  const std::size_t first = samples.size() > kMaxSamples ? samples.size() - kMaxSamples : 0;
  for (std::size_t i = first; i < samples.size(); ++i)
    json.push_back({{"update", samples[i].update},
                    {"source", shortened(samples[i].source)},
                    {"prediction", shortened(samples[i].prediction)},
                    {"reference", shortened(samples[i].reference)}});
  return json;
}

/// Keeps only data of the form that data.json has: lists of pairs of whole numbers, not below 0.
Json checked_lengths(const Json& lengths) {
  Json json = Json::object();
  for (const char* part : {"train", "validation"}) {
    if (!lengths.contains(part) || !lengths[part].is_object()) continue;
    for (const char* side : {"source", "target"}) {
      const Json list = lengths[part].value(side, Json::array());
      Json kept = Json::array();
      if (list.is_array())
        for (const Json& item : list)
          if (item.is_array() && item.size() == 2 && item[0].is_number_unsigned() && item[1].is_number_unsigned() &&
              item[0] < 1000000)
            kept.push_back(item);
      json[part][side] = std::move(kept);
    }
  }
  return json;
}

/// Returns a short key unchanged, and for a longer one its beginning and a checksum, so that keys stay distinct. Each
/// leaf repeats the keys above it, and all of them together must not be much larger than the file.
std::string short_key(std::string key) {
  constexpr std::size_t kMax = 240;
  if (key.size() <= kMax) return key;
  const std::uint64_t sum = core::fingerprint(key);
  key.resize(kMax - 40);
  return fmt::format("{}... {:016x}", key, sum);
}

void flatten(const Json& tree, const std::string& path, std::map<std::string, std::string>& flat) {
  for (const auto& [key, value] : tree.items()) {
    const std::string name = short_key(path.empty() ? key : fmt::format("{}.{}", path, key));
    if (value.is_object() && !value.empty())
      flatten(value, name, flat);
    else
      flat[name] = shortened(value.is_string() ? value.get<std::string>() : core::one_line(value));
  }
}

std::int64_t planned_updates(const Json& configuration) {
  const Json training = configuration.value("training", Json::object());
  const Json updates = training.is_object() ? training.value("updates", Json()) : Json();
  return updates.is_number_integer() ? std::max<std::int64_t>(updates.get<std::int64_t>(), 0) : 0;
}

Json as_json(const RunHistory& run, const std::map<std::string, std::string>& configuration) {
  Json marks = Json::array();
  for (const Mark& mark : run.marks) marks.push_back({{"update", mark.update}, {"fork", shortened(mark.fork)}});
  Json notes = Json::array();
  for (const std::string& note : run.notes) notes.push_back(shortened(note));
  Json keys = Json::array();
  for (const auto& [key, value] : configuration) keys.push_back({shortened(key), value});
  std::map<std::string, std::string> signatures;
  for (const auto& [name, signature] : run.metrics.signatures) signatures[shortened(name)] = shortened(signature);
  return {{"name", shortened(run.name)},
          {"finished", run.finished},
          {"update", run.metrics.last_update},
          {"updates", planned_updates(run.configuration)},
          {"seconds", run.metrics.seconds},
          {"training", as_json(run.metrics.training)},
          {"validation", as_json(run.metrics.validation)},
          {"signatures", signatures},
          {"best", run.metrics.best},
          {"samples", as_json(run.metrics.samples)},
          {"lengths", checked_lengths(run.lengths)},
          {"marks", marks},
          {"notes", notes},
          {"attention", run.attention},
          {"configuration", keys}};
}

/// Returns each key whose value differs between the configurations.
Json differences(const std::vector<std::map<std::string, std::string>>& configurations) {
  std::set<std::string> keys;
  for (const auto& configuration : configurations)
    for (const auto& [key, value] : configuration) keys.insert(key);
  Json list = Json::array();
  for (const std::string& key : keys) {
    Json values = Json::array();
    for (const auto& configuration : configurations) {
      const auto found = configuration.find(key);
      values.push_back(found == configuration.end() ? "" : found->second);
    }
    const bool alike = std::all_of(values.begin(), values.end(), [&](const Json& v) { return v == values.front(); });
    if (!alike) list.push_back({{"key", shortened(key)}, {"values", std::move(values)}});
  }
  return list;
}

/// Returns JSON that is safe in a script element, whatever its texts contain: in ASCII, and without sequences that
/// could end the element or start a comment.
std::string for_script(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<' || c == '>' || c == '&')
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      text += c;
  }
  return text;
}

}  // namespace

std::string to_html(const std::vector<RunHistory>& runs, std::string_view version) {
  std::vector<std::map<std::string, std::string>> configurations;
  Json list = Json::array();
  for (const RunHistory& run : runs) {
    flatten(run.configuration, "", configurations.emplace_back());
    list.push_back(as_json(run, configurations.back()));
  }
  const Json data{{"version", version}, {"runs", std::move(list)}, {"differences", differences(configurations)}};
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      // The page loads nothing from anywhere, and markup in the runs' text would have no effect.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n<title>Training report</title>\n<style>";
  page += kStyle;
  page +=
      "</style>\n</head>\n<body>\n<main id=\"main\"></main>\n<noscript>This page draws its charts by a script, which "
      "is switched off here.</noscript>\n<script type=\"application/json\" id=\"data\">";
  page += for_script(data);
  page += "</script>\n<script>";
  page += kScript;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace dragoman::report
