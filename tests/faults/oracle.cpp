#include "oracle.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace dragoman::faults {
namespace {

using Problems = std::vector<std::string>;

constexpr std::size_t kLongestLine = 2000;
constexpr std::size_t kMaxLines = 40;  // of notes, warnings and the error
constexpr std::size_t kShown = 300;    // characters of something that a problem quotes

std::string shown(std::string text) {
  std::string escaped;
  for (const char c : text.substr(0, kShown))
    escaped += static_cast<unsigned char>(c) >= ' ' ? std::string(1, c)
               : c == '\n'                          ? " | "
                                                    : fmt::format("\\x{:02x}", c);
  return text.size() > kShown ? escaped + "..." : escaped;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool is_error_line(const std::string& line) {
  return line.starts_with("dragoman: ") && !line.starts_with("dragoman: warning: ");
}

// --- how it ended -------------------------------------------------------------------------------------------------

void judge_end(const Evidence& evidence, const Outcome& outcome, Problems& problems) {
  const Expectation& expected = evidence.expectation;
  if (!outcome.ended) {
    problems.push_back(fmt::format("did not end in {:.0f} s; stderr: {}", outcome.seconds, shown(outcome.error)));
  } else if (outcome.signal != 0) {
    if (!expected.signals.contains(outcome.signal) && outcome.crashed_in.empty())
      problems.push_back(
          fmt::format("died of SIG{}; stderr: {}", ::sigabbrev_np(outcome.signal), shown(outcome.error)));
  } else if (succeeded(evidence.profile, outcome)) {
    if (!expected.may_succeed && outcome.status == 0)
      problems.push_back(fmt::format("status {} although it cannot have done its task", outcome.status));
  } else if (expected.must_succeed) {
    problems.push_back(
        fmt::format("status {} although nothing stood in its way; stderr: {}", outcome.status, shown(outcome.error)));
  } else if (!expected.statuses.contains(outcome.status)) {
    problems.push_back(fmt::format("status {} is not right here; stderr: {}", outcome.status, shown(outcome.error)));
  }
}

// --- what it said -------------------------------------------------------------------------------------------------

bool has_control_character(const std::string& line) {
  return std::ranges::any_of(line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

/// Words that are a programmer's, or that say that nothing is wrong.
bool is_unclear(const std::string& line) {
  constexpr std::array<std::string_view, 8> kUnclear = {": Success", "std::",     "basic_string",  "boost",
                                                        "terminate", "exception", "Unknown error", "vector::"};
  constexpr std::size_t kShortest = 20;
  return line.size() < kShortest ||
         std::ranges::any_of(kUnclear, [&](std::string_view word) { return line.find(word) != std::string::npos; });
}

void judge_message(const Profile& profile, const Outcome& outcome, Problems& problems) {
  const std::vector<std::string> lines = lines_of(outcome.error);
  if (lines.size() > kMaxLines + lines_of(profile.error).size())
    problems.push_back(fmt::format("{} lines on standard error", lines.size()));
  for (const std::string& line : lines) {
    if (has_control_character(line)) problems.push_back("control characters on standard error: " + shown(line));
    if (line.size() > kLongestLine) problems.push_back("a line without end on standard error: " + shown(line));
    if (is_error_line(line) && is_unclear(line)) problems.push_back("an unclear message: " + shown(line));
  }
  constexpr int kClosedPipeStatus = 141;
  const bool says_why = outcome.status != 0 && outcome.status != kClosedPipeStatus;
  const auto errors = std::ranges::count_if(lines, is_error_line);
  if (errors != (says_why ? 1 : 0))
    problems.push_back(fmt::format("{} error lines with status {}: {}", errors, outcome.status, shown(outcome.error)));
}

/// An interpreter of the shell's kind: the loader of libraries fails before there is a program.
bool is_loader_failure(const Outcome& outcome) {
  constexpr int kLoaderStatus = 127;
  return outcome.status == kLoaderStatus;
}

// --- what it wrote ------------------------------------------------------------------------------------------------

bool may_change(const Scenario& scenario, const std::string& path) {
  return std::ranges::count(scenario.changeable, path) > 0;
}

/// The newest checkpoint of a finished run is that of its last update. Which earlier ones are kept beside it depends on
/// where the run was interrupted, since that makes one more.
bool is_earlier_checkpoint(const Tree& results, const std::string& path) {
  constexpr std::string_view kName = "/checkpoint-";
  const auto update = [&](const std::string& of) -> long {
    const std::size_t place = of.find(kName);
    if (place == of.npos) return -1;
    char* end = nullptr;
    const long number = std::strtol(of.c_str() + place + kName.size(), &end, 10);
    return *end == '/' ? number : -1;  // and not `.partial`
  };
  long last = -1;
  for (const auto& [name, content] : results) last = std::max(last, update(name));
  return update(path) >= 0 && update(path) < last;
}

bool holds(const Tree& tree, const std::string& path, const std::string& content) {
  const auto place = tree.find(path);
  return place != tree.end() && place->second == content;
}

bool is_new(const Evidence& evidence, const std::string& path, const std::string& content) {
  return holds(evidence.profile.results, path, content) ||
         (evidence.profile.results.contains(path) && may_change(evidence.scenario, path));
}

void judge_completeness(const Scenario& scenario, const Profile& profile, const Tree& after, bool may_litter,
                        Problems& problems) {
  for (const auto& [path, content] : profile.results) {
    if (is_earlier_checkpoint(profile.results, path)) continue;
    const auto place = after.find(path);
    if (place == after.end())
      problems.push_back("missing: " + path);
    else if (place->second != content && !may_change(scenario, path))
      problems.push_back("other bytes than undisturbed: " + path);
  }
  for (const auto& [path, content] : after)
    if (!profile.results.contains(path) && !may_litter && !is_earlier_checkpoint(profile.results, path))
      problems.push_back("left behind: " + path);
}

const Output* output_of(const Scenario& scenario, const std::string& path) {
  for (const Output& output : scenario.outputs)
    if (path.starts_with(output.name)) return &output;
  return nullptr;
}

/// A file that is neither an earlier nor a new result.
void judge_other_file(const Evidence& evidence, const std::string& path, const std::string& content,
                      Problems& problems) {
  const Output* output = output_of(evidence.scenario, path);
  if (output == nullptr) return problems.push_back("a foreign file: " + path);
  const std::string suffix = path.substr(output->name.size());
  switch (output->kind) {
    case Output::Kind::kFile: {
      if (suffix.empty()) return problems.push_back(fmt::format("{}: neither old nor new: {}", path, shown(content)));
      if (suffix == ".partial.job" || suffix == ".superseded" || suffix == ".superseded.partial") return;
      if (suffix != ".partial") return problems.push_back("left behind: " + path);
      const auto complete = evidence.profile.results.find(output->name);
      if (evidence.expectation.same_task && !complete->second.starts_with(content))
        problems.push_back(fmt::format("{}: no beginning of the result: {}", path, shown(content)));
      return;
    }
    case Output::Kind::kModelFolder:
      if (!lies_in(suffix, ".partial") && !lies_in(suffix, ".replaced"))
        problems.push_back(path + ": neither of the old model nor of the new one");
      return;
    case Output::Kind::kRunFolder:
      return;  // what is in it counts when it is resumed
  }
}

/// A model folder must be whole: all old or all new.
void judge_model_folder(const Evidence& evidence, const Output& output, Problems& problems) {
  bool all_old = true;
  bool all_new = true;
  std::size_t files = 0;
  for (const auto& [path, content] : evidence.after) {
    if (!lies_in(path, output.name)) continue;
    ++files;
    all_old = all_old && holds(evidence.before, path, content);
    all_new = all_new && is_new(evidence, path, content);
  }
  const auto count = [&](const Tree& tree) {
    return std::ranges::count_if(tree, [&](const auto& file) { return lies_in(file.first, output.name); });
  };
  all_old = all_old && static_cast<std::ptrdiff_t>(files) == count(evidence.before);
  all_new = all_new && static_cast<std::ptrdiff_t>(files) == count(evidence.profile.results);
  if (!all_old && !all_new && evidence.expectation.same_task)
    problems.push_back(output.name + ": neither the old model nor the new one, whole");
}

/// Of files that belong together an old one beside a new one has a mark, which keeps it from being read.
void judge_mixture(const Evidence& evidence, Problems& problems) {
  if (!evidence.scenario.belong_together) return;
  const auto is_the_new_one = [&](const Output& output) {
    return holds(evidence.after, output.name, evidence.profile.results.at(output.name));
  };
  if (!evidence.expectation.same_task || std::ranges::none_of(evidence.scenario.outputs, is_the_new_one)) return;
  for (const Output& output : evidence.scenario.outputs)
    if (evidence.after.contains(output.name) && !is_the_new_one(output) &&
        !evidence.after.contains(output.name + ".superseded"))
      problems.push_back(output.name + ": an old file beside a new one of its set, without a mark");
}

void judge_losses(const Evidence& evidence, Problems& problems) {
  for (const auto& [path, content] : evidence.before) {
    const Output* output = output_of(evidence.scenario, path);
    const bool is_result = output != nullptr && output->kind != Output::Kind::kRunFolder && path == output->name;
    if (is_result && !evidence.after.contains(path)) problems.push_back("lost: " + path);
  }
  if (has_complete_checkpoint(evidence.before) && !has_complete_checkpoint(evidence.after))
    problems.emplace_back("lost: every complete checkpoint");
  for (const Output& output : evidence.scenario.outputs)
    if (output.kind == Output::Kind::kModelFolder) judge_model_folder(evidence, output, problems);
}

void judge_files(const Evidence& evidence, Problems& problems) {
  for (const auto& [path, content] : evidence.after)
    if (!is_new(evidence, path, content) && !holds(evidence.before, path, content))
      if (evidence.expectation.same_task || output_of(evidence.scenario, path) == nullptr ||
          path != output_of(evidence.scenario, path)->name)
        judge_other_file(evidence, path, content, problems);
  if (!evidence.expectation.folder_vanishes) judge_losses(evidence, problems);
}

/// On a busy machine the program may have no time to stop by itself after a signal. It then says that it ended where it
/// was, which is as safe as being killed, and as untidy.
bool ended_in_place(const Outcome& outcome) {
  return outcome.error.find("was ended where it was") != std::string::npos;
}

void judge_scratch(const Evidence& evidence, Problems& problems) {
  const bool killed = std::ranges::any_of(
      evidence.outcomes, [](const Outcome& o) { return o.signal != 0 || !o.ended || ended_in_place(o); });
  if (!evidence.scratch_after.empty() && !killed && !evidence.expectation.may_litter)
    problems.push_back("temporary files left behind: " + evidence.scratch_after.front());
}

/// `dragoman doctor` ends with success where a library that few need cannot be opened, and says so in a further line.
bool names_what_is_missing(const Evidence& evidence, const Outcome& outcome) {
  const auto lines = [](std::string_view text) {
    std::size_t found = 0;
    for (std::size_t at = text.find("missing: "); at != std::string_view::npos; at = text.find("missing: ", at + 1))
      ++found;
    return found;
  };
  return lines(outcome.output) > lines(evidence.profile.output);
}

void judge_output(const Evidence& evidence, const Outcome& outcome, Problems& problems) {
  const std::string& expected = evidence.profile.output;
  const bool complete = succeeded(evidence.profile, outcome) && outcome.status == 0;
  if (evidence.scenario.reports_faults && (!complete || names_what_is_missing(evidence, outcome))) return;
  if (complete ? outcome.output != expected : !expected.starts_with(outcome.output))
    problems.push_back(fmt::format("status {} and other bytes on standard output than undisturbed: {}", outcome.status,
                                   shown(outcome.output)));
}

}  // namespace

bool has_complete_checkpoint(const Tree& tree) {
  return std::ranges::any_of(tree, [](const auto& file) {
    return file.first.find("/checkpoint-") != std::string::npos && file.first.ends_with("/state.json") &&
           file.first.find(".partial") == std::string::npos && file.first.find(".damaged") == std::string::npos;
  });
}

bool succeeded(const Profile& profile, const Outcome& outcome) {
  return outcome.ended && outcome.signal == 0 && outcome.status == profile.status;
}

Problems judge(const Evidence& evidence) {
  Problems problems;
  const Expectation& expected = evidence.expectation;
  for (const Outcome& outcome : evidence.outcomes) {
    judge_end(evidence, outcome, problems);
    if (expected.reads_error && outcome.ended && outcome.signal == 0 && !is_loader_failure(outcome))
      judge_message(evidence.profile, outcome, problems);
    if (expected.reads_output && expected.same_task) judge_output(evidence, outcome, problems);
  }
  const bool any_succeeded = std::ranges::any_of(
      evidence.outcomes, [&](const Outcome& outcome) { return succeeded(evidence.profile, outcome); });
  if (any_succeeded && expected.same_task && !expected.folder_vanishes && evidence.profile.status == 0)
    judge_completeness(evidence.scenario, evidence.profile, evidence.after, expected.may_litter, problems);
  if (evidence.outcomes.size() > 1 && !any_succeeded) problems.emplace_back("neither of the two did the task");
  judge_files(evidence, problems);
  judge_mixture(evidence, problems);
  judge_scratch(evidence, problems);
  return problems;
}

Problems judge_repetition(const Scenario& scenario, const Profile& profile, const Outcome& outcome, const Tree& before,
                          const Tree& after) {
  if (!succeeded(profile, outcome)) {
    Problems missing;
    judge_completeness(scenario, profile, before, false, missing);
    if (profile.status == 0 && outcome.signal == 0 && before == after && missing.empty()) return {};
    return {fmt::format("run again without the fault: {} {}; stderr: {}", outcome.signal != 0 ? "signal" : "status",
                        outcome.signal != 0 ? outcome.signal : outcome.status, shown(outcome.error))};
  }
  Problems problems;
  if (profile.status == 0) judge_completeness(scenario, profile, after, false, problems);
  for (std::string& problem : problems) problem = "run again without the fault: " + problem;
  return problems;
}

}  // namespace dragoman::faults
