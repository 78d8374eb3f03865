#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/core/json.h>

namespace dragoman::report {

/// The finite values of one metric by update, in the order in which they were written.
using Series = std::vector<std::pair<std::int64_t, double>>;

/// A translation of a validation sentence at one update.
struct Sample {
  std::int64_t update = 0;
  bool random = false;
  std::string source{};
  std::string prediction{};
  std::string reference{};
};

/// The readable contents of metrics.jsonl.
struct Metrics {
  std::map<std::string, Series> training{};         ///< by key: loss, learning_rate, ...; tokens_per_second is derived
  std::map<std::string, Series> validation{};       ///< loss, BLEU, ...
  std::map<std::string, std::string> signatures{};  ///< of the newest validation
  std::vector<std::int64_t> best{};                 ///< updates whose validation was the best so far
  std::vector<Sample> samples{};
  std::int64_t last_update = 0;
  double seconds = 0;                  ///< of training
  std::uint64_t unreadable = 0;        ///< lines that are not an object with type and update
  std::uint64_t first_unreadable = 0;  ///< the number of the first such line, from 1
  bool cut = false;                    ///< whether the last line is incomplete
};

/// Reads the lines. Unreadable lines are counted, and are not an error.
Metrics read_metrics(std::string_view text);

/// An event in a run: a resume, or a fork with the differences.
struct Mark {
  std::int64_t update = 0;
  std::string fork{};  ///< empty for a resume
};

/// The contents of a run's folder that a report shows.
struct RunHistory {
  std::string name{};  ///< the folder as it was given
  core::Json configuration = core::Json::object();
  core::Json lengths = core::Json::object();  ///< from data.json; empty if there is none
  Metrics metrics{};
  std::vector<Mark> marks{};
  bool finished = false;  ///< whether it has finished and has not been continued since
  /// Problems with its files, for people.
  std::vector<std::string> notes{};
  /// Attention of samples, as pipeline::to_json() returns it plus "source" and "target", if a caller has computed it.
  core::Json attention = core::Json::array();
};

/// Reads a run's folder. Throws Error{kBadInput} if it is not the folder of a run, or if its run.json is damaged.
/// Everything else that cannot be read results in a note.
RunHistory read_run(const std::filesystem::path& folder);

/// Returns a self-contained HTML page, with style, script and data. All text of runs is embedded as data, never as
/// markup.
///
///     const std::vector<RunHistory> runs{read_run("runs/base"), read_run("runs/deep")};
///     core::write_file("report.html", to_html(runs, "0.2.0"));     // core/file.h
///
/// The functions of this header are thread-safe. They keep nothing open.
std::string to_html(const std::vector<RunHistory>& runs, std::string_view version);

}  // namespace dragoman::report
