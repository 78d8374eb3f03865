#include "dragoman/pipeline/input_notes.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include <dragoman/core/json.h>

namespace dragoman::pipeline {

std::string to_note(const InputPoint& point) {
  return core::Json{{"lines", point.lines}, {"input", fmt::format("{:016x}", point.hash)}}.dump();
}

std::vector<InputPoint> known_points(const std::vector<std::string>& notes) {
  std::vector<InputPoint> points;
  for (const std::string& note : notes) {
    const core::Json json = core::try_parse_json(note).tree;
    if (!json.is_object()) break;  // damaged: the notes after it are not trusted, and not parsed
    const auto lines = json.find("lines");
    const auto hash = json.find("input");
    if (lines == json.end() || hash == json.end() || !lines->is_number_unsigned() || !hash->is_string()) continue;
    points.push_back({lines->get<std::uint64_t>(), std::strtoull(hash->get<std::string>().c_str(), nullptr, 16), 0});
  }
  return points;
}

std::uint64_t vouched_lines(const std::vector<std::string>& notes) {
  std::uint64_t lines = 0;
  for (const InputPoint& point : known_points(notes)) lines = std::max(lines, point.lines);
  return lines;
}

}  // namespace dragoman::pipeline
