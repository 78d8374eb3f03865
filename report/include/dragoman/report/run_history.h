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

/// A figure over the updates of a run, in the order in which it was written. Only finite values.
using Series = std::vector<std::pair<std::int64_t, double>>;

struct Sample {
  std::int64_t update = 0;
  bool random = false;
  std::string source{};
  std::string prediction{};
  std::string reference{};
};

/// What metrics.jsonl says, as far as it can be read.
struct Metrics {
  std::map<std::string, Series> training{};         ///< by key: loss, learning_rate, ...; tokens_per_second is derived
  std::map<std::string, Series> validation{};       ///< loss, BLEU, ...
  std::map<std::string, std::string> signatures{};  ///< of the newest validation
  std::vector<std::int64_t> best{};                 ///< updates whose validation was the best until then
  std::vector<Sample> samples{};
  std::int64_t last_update = 0;
  double seconds = 0;                  ///< of training
  std::uint64_t unreadable = 0;        ///< lines that are no object with type and update
  std::uint64_t first_unreadable = 0;  ///< the number of the first of them, from 1
  bool cut = false;                    ///< whether the last line is not complete
};

/// Reads the lines; nothing in them is an error.
Metrics read_metrics(std::string_view text);

/// A mark on a run: a resume, or a fork with what differed.
struct Mark {
  std::int64_t update = 0;
  std::string fork{};  ///< empty: a resume
};

/// A run's folder, as a report shows it.
struct RunHistory {
  std::string name{};  ///< the folder as it was given
  core::Json configuration = core::Json::object();
  core::Json lengths = core::Json::object();  ///< of data.json; empty if there is none
  Metrics metrics{};
  std::vector<Mark> marks{};
  bool finished = false;  ///< whether it has come to its end, and has not been continued since
  /// What was wrong with its files, for people.
  std::vector<std::string> notes{};
  /// Attention of samples, as pipeline::to_json() has it with "source" and "target", if somebody has found it.
  core::Json attention = core::Json::array();
};

/// Error{kBadInput} if the folder is none of a run, or its run.json is damaged. What else cannot be read of it is a
/// note.
RunHistory read_run(const std::filesystem::path& folder);

/// A page that needs nothing else: style, script and data are in it. All text of runs is data, never markup.
std::string to_html(const std::vector<RunHistory>& runs, std::string_view version);

}  // namespace dragoman::report
