#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/format_version.h>
#include <dragoman/core/json.h>
#include <dragoman/report/run_history.h>

namespace dragoman::report {
namespace {

namespace fs = std::filesystem;
using core::Json;

constexpr std::uint64_t kLargest = std::uint64_t{1} << 30;  // for metrics.jsonl, which grows with the run
constexpr std::uint64_t kLargestRecord = std::uint64_t{256} << 20;
// The newest format_version of run.json and data.json; training/run writes them.
constexpr int kNewestRecord = 2;
constexpr int kNewestData = 1;

/// Returns the contents of the file, or null after adding a note.
Json read_object(const fs::path& file, RunHistory& run) {
  try {
    Json json = core::try_parse_json(core::read_regular_file(file, kLargestRecord)).tree;
    if (json.is_object()) {
      core::require_known_version(json, kNewestData, file.filename().string());
      return json;
    }
    run.notes.push_back(file.filename().string() + " is not a JSON object");
  } catch (const core::Error& error) {
    run.notes.emplace_back(error.what());
  }
  return {};
}

/// Reads run.json, without which a page could show nothing of a run.
Json read_record(const fs::path& file) {
  constexpr std::string_view kRemedy = "restore it from a backup, or leave this run out";
  Json record;
  try {
    record = core::parse_json(core::read_regular_file(file, kLargestRecord), file.string());
  } catch (const core::Error& error) {
    core::fail(error.code(), "{}; {}", error.what(), kRemedy);
  }
  const auto holds = [&](const char* key) { return record.contains(key) && record[key].is_object(); };
  core::require(record.is_object() && holds("configuration"), core::ErrorCode::kBadInput,
                "{}: is not the record of a training run: it holds no configuration; {}", file.string(), kRemedy);
  core::require_known_version(record, kNewestRecord, file.string());
  return record;
}

/// Returns whether the run has finished. A run that is continued keeps the models of its previous end, so the record
/// tells whether it has finished. The record of an older program does not, and then the models decide.
bool is_finished(const Json& record, const fs::path& folder) {
  if (const auto update = record.find("finished"); update != record.end()) return update->is_number_integer();
  std::error_code ignored;
  return fs::exists(folder / "last" / "config.json", ignored);
}

void read_marks(const Json& record, RunHistory& run) {
  const auto update_of = [](const Json& value) {
    return value.is_number_integer() ? value.get<std::int64_t>() : std::int64_t{-1};
  };
  if (const auto forks = record.find("forks"); forks != record.end() && forks->is_array())
    for (const Json& fork : *forks)
      if (fork.is_object() && fork.contains("changed") && fork["changed"].is_string())
        run.marks.push_back({.update = update_of(fork.value("update", Json())), .fork = fork["changed"]});
  if (const auto resumes = record.find("resumes"); resumes != record.end() && resumes->is_array())
    for (const Json& resume : *resumes) run.marks.push_back({.update = update_of(resume)});
  std::erase_if(run.marks, [](const Mark& mark) { return mark.update < 0; });
}

void read_history(const fs::path& folder, RunHistory& run) {
  try {
    run.metrics = read_metrics(core::read_regular_file(folder / "metrics.jsonl", kLargest));
  } catch (const core::Error& error) {
    run.notes.emplace_back(error.what());
    return;
  }
  const Metrics& metrics = run.metrics;
  if (metrics.unreadable > 0)
    run.notes.push_back(fmt::format("metrics.jsonl: {} lines cannot be read, line {} the first", metrics.unreadable,
                                    metrics.first_unreadable));
  if (metrics.cut) run.notes.emplace_back("metrics.jsonl: the last line is not complete");
  if (metrics.training.empty() && metrics.validation.empty())
    run.notes.emplace_back("metrics.jsonl: there is nothing in it yet");
}

}  // namespace

RunHistory read_run(const fs::path& folder) {
  std::error_code ignored;
  core::require(fs::exists(folder / "run.json", ignored), core::ErrorCode::kBadInput,
                "{}: is not the folder of a training run: there is no run.json in it; name the `output` of a "
                "configuration that was trained",
                folder.string());
  RunHistory run{.name = folder.string()};
  const Json record = read_record(folder / "run.json");
  run.configuration = record["configuration"];
  read_marks(record, run);
  if (fs::exists(folder / "data.json", ignored)) {
    Json lengths = read_object(folder / "data.json", run);
    if (lengths.is_object()) run.lengths = std::move(lengths);
  }
  run.finished = is_finished(record, folder);
  read_history(folder, run);
  return run;
}

}  // namespace dragoman::report
