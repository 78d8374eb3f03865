#include "validation/external_metric.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/numbers.h>
#include <dragoman/core/process.h>
#include <dragoman/core/quote.h>

namespace dragoman::training {
namespace {

using core::ErrorCode;

std::string with_files(std::string text, const ScoredFiles& files, bool for_shell) {
  const std::array<std::pair<std::string_view, const std::filesystem::path*>, 3> places{
      {{"{hypotheses}", &files.hypotheses}, {"{references}", &files.references}, {"{sources}", &files.sources}}};
  for (const auto& [place, file] : places) {
    const std::string name = for_shell ? core::quote_for_shell(file->string()) : file->string();
    for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + name.size()))
      text.replace(at, place.size(), name);
  }
  return text;
}

std::vector<std::string> arguments_of(const ExternalMetric& metric, const ScoredFiles& files) {
  if (metric.command.size() == 1) return {"/bin/sh", "-c", with_files(metric.command.front(), files, true)};
  std::vector<std::string> words;
  for (const std::string& word : metric.command) words.push_back(with_files(word, files, false));
  return words;
}

/// Returns the last line that is not blank.
std::string_view last_line(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r\n";
  const std::size_t end = text.find_last_not_of(kWhite);
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  return text.substr(text.rfind('\n') + 1);
}

std::string said(const std::string& text) {
  constexpr std::size_t kShown = 200;
  const std::string_view line = last_line(text);
  return line.empty() ? "it said nothing" : "it said " + core::quote(std::string(line.substr(0, kShown)));
}

}  // namespace

double measure(const ExternalMetric& metric, const ScoredFiles& files, const std::stop_token& stop) {
  const core::ProcessOutcome outcome = core::run_process(
      {.arguments = arguments_of(metric, files), .timeout = std::chrono::seconds(metric.timeout), .stop = stop});
  core::require(!outcome.timed_out, ErrorCode::kIo,
                "validation.metrics: the command of {} did not end within {} seconds and was ended; give it more as "
                "timeout",
                metric.name, metric.timeout);
  core::require(outcome.status == 0, ErrorCode::kIo, "validation.metrics: the command of {} ended with status {}; {}",
                metric.name, outcome.status, said(outcome.errors));
  const std::string_view line = last_line(outcome.output);
  const std::string word(line.substr(line.find_last_of(" \t=:") + 1));
  const std::optional<double> number = core::spelled_number<double>(word);
  core::require(number && std::isfinite(*number), ErrorCode::kIo,
                "validation.metrics: the command of {} printed no number in its last line; {}", metric.name,
                said(outcome.output));
  return *number;
}

void write_lines(const std::filesystem::path& file, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    std::string one = line;
    std::ranges::replace_if(
        one, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    text += one + "\n";
  }
  std::error_code ignored;
  if (std::filesystem::is_symlink(file, ignored)) std::filesystem::remove(file);
  core::write_file(file, text);
}

}  // namespace dragoman::training
