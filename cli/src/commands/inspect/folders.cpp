#include "inspector.h"
#include "tokenizer.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/format_version.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/imports/importers.h>
#include <dragoman/training/run_files.h>

namespace dragoman::cli {
namespace {

namespace fs = std::filesystem;
using core::Json;

void add_checksums(Report& report, const fs::path& folder) {
  const std::vector<std::string> files = formats::verify_checksums(folder);
  report.add("checksums", files, fmt::format("correct: {}", fmt::join(files, ", ")));
}

/// Describes the kind of a tokenizer according to config.json and, for a built-in kind, the content of its file.
Report describe_stored_tokenizer(const tokenizer::TokenizerSpec* stored, const tokenizer::Tokenizer* tokenizer,
                                 const std::string& label) {
  Report report;
  if (stored != nullptr) {
    report.add_value("type", stored->kind());
    report.add_value("plugin", stored->plugin);
    report.add_value("options", stored->options.get());
    report.add_row(label + " type", stored->plugin.empty()
                                        ? std::string(stored->kind())
                                        : fmt::format("{}, of the plugin {}", stored->kind(), stored->plugin));
    if (!stored->options.empty()) report.add_row(label + " options", core::one_line(stored->options.get()));
  }
  if (tokenizer != nullptr) report.append(describe_tokenizer(*tokenizer, label));
  return report;
}

void add_tokenizers(Report& report, const formats::ModelFolder& folder) {
  const std::optional<formats::StoredTokenizers>& stored = folder.config().tokenizers;
  const tokenizer::TokenizerSpec* source = stored ? &stored->source : nullptr;
  const tokenizer::TokenizerSpec* target = stored ? &stored->target : nullptr;
  if (folder.has_joint_tokenizer())
    return report.add_part("tokenizer",
                           describe_stored_tokenizer(source, folder.source_tokenizer().get(), "tokenizer"));
  report.add_part("source_tokenizer",
                  describe_stored_tokenizer(source, folder.source_tokenizer().get(), "source tokenizer"));
  report.add_part("target_tokenizer",
                  describe_stored_tokenizer(target, folder.target_tokenizer().get(), "target tokenizer"));
}

// ---- training runs

/// Returns the value at a place of a record, or null. A record may be of another version, or damaged.
const Json& at(const Json& record, const char* place) {
  static const Json nothing;
  const Json::json_pointer pointer(place);
  return record.contains(pointer) ? record[pointer] : nothing;
}

std::string text_of(const Json& value) {
  if (value.is_number_float()) return fmt::format("{:.5g}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : core::one_line(value);
}

std::string list_of(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> parts_of_run(const fs::path& run, bool (*wanted)(const fs::path&)) {
  std::vector<std::string> names;
  for (const fs::path& entry : core::list_folder(run))
    if (wanted(entry)) names.push_back(entry.filename().string());
  return names;
}

/// Checks the version of a file of a run. Throws Error{kUnsupported} if it is of a newer program.
void require_known(const Json& json, const fs::path& file, int newest) {
  if (json.is_object()) core::require_known_version(json, newest, file.string());
}

void require_known_state(const Json& state, const fs::path& file) {
  require_known(state, file, training::RunFiles::kStateVersion);
}

bool has_checkpoint_name(const fs::path& path) {
  return training::RunFiles::update_of(path.filename().string()) >= 0;
}

/// Returns whether training has set this folder aside: its name is then "checkpoint-60.damaged", or that with "-2".
bool is_set_aside(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::size_t suffix = name.find(training::RunFiles::kDamagedSuffix);
  if (suffix == std::string::npos || !has_checkpoint_name(name.substr(0, suffix)) || !fs::is_directory(path))
    return false;
  const std::string rest = name.substr(suffix + training::RunFiles::kDamagedSuffix.size());
  return rest.empty() ||
         (rest.size() > 1 && rest.front() == '-' && rest.find_first_not_of("0123456789", 1) == std::string::npos);
}

struct Checkpoints {
  std::vector<std::string> names;
  Json newest;                        ///< state.json of the readable one with the most updates, or null
  std::vector<std::string> damaged;   ///< the names of those set aside, and of those whose state is unreadable
  std::vector<std::string> problems;  ///< the same names, with the reason where it is known
};

/// Looks at all checkpoints of a run. A damaged one must not hide the others. Throws Error{kUnsupported} if one is of a
/// newer program.
Checkpoints read_checkpoints(const fs::path& run) {
  Checkpoints found;
  found.damaged = found.problems = parts_of_run(run, &is_set_aside);
  for (const std::string& name : parts_of_run(run, &is_checkpoint)) {
    if (!has_checkpoint_name(name)) continue;
    const fs::path file = run / name / training::RunFiles::kState;
    Json state;
    try {
      state = core::load_json(file.string());
    } catch (const core::Error& error) {
      if (error.code() != core::ErrorCode::kBadInput && error.code() != core::ErrorCode::kIo) throw;
      found.damaged.push_back(name);
      found.problems.push_back(fmt::format("{} ({})", name, error.what()));
      continue;
    }
    require_known_state(state, file);
    found.names.push_back(name);
    const Json& update = at(state, "/update");
    if (update.is_number_integer() && (found.newest.is_null() || update > found.newest["update"]))
      found.newest = std::move(state);
  }
  return found;
}

struct LastMetrics {
  Json training;
  Json validation;
};

/// Returns the last lines of each kind. The very last line may be incomplete.
LastMetrics read_last_metrics(const fs::path& file) {
  LastMetrics last;
  if (!fs::is_regular_file(file)) return last;
  core::LineReader lines{core::InputFile(file)};
  const auto take = [](const std::string& line, std::string_view type, Json& kept) {
    if (!line.starts_with(fmt::format("{{\"type\":\"{}\"", type)) || !line.ends_with('}')) return;
    core::ParsedJson parsed = core::try_parse_json(line);
    if (parsed.problem.empty()) kept = std::move(parsed.tree);
  };
  for (std::string line; lines.next(line);) {
    take(line, "training", last.training);
    take(line, "validation", last.validation);
  }
  return last;
}

std::string planned(const Json& record) {
  std::string text;
  for (const char* unit : {"updates", "epochs"}) {
    const Json& most = at(record, (std::string("/configuration/training/") + unit).c_str());
    if (most.is_number_integer() && most > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : " or ", core::one_line(most), unit);
  }
  return text.empty() ? "no limit" : text;
}

void add_progress(Report& report, const Json& record, const Json& state, const LastMetrics& metrics) {
  report.add_value("state", state);
  report.add_value("last_training", metrics.training);
  report.add_value("last_validation", metrics.validation);
  if (!state.is_null())
    report.add_row("saved", fmt::format("after {} updates and {} whole epochs, of {}", text_of(at(state, "/update")),
                                        text_of(at(state, "/epoch")), planned(record)));
  if (!metrics.training.is_null())
    report.add_row("training loss", fmt::format("{} at update {}", text_of(at(metrics.training, "/loss")),
                                                text_of(at(metrics.training, "/update"))));
  const std::string metric = text_of(at(record, "/configuration/validation/metric"));
  if (const Json& best = at(state, "/early_stopping/ranking/0"); !best.is_null())
    report.add_row("best validation", fmt::format("{} {} at update {}", metric, text_of(at(best, "/value")),
                                                  text_of(at(best, "/update"))));
}

void add_origin(Report& report, const Json& record) {
  report.add_row("model", text_of(at(record, "/configuration/model/type")));
  for (const char* data : {"train", "validation"}) {
    const Json& pair = at(record, (std::string("/configuration/data/") + data).c_str());
    if (pair.is_object())
      report.add_row(std::string(data) + " data", text_of(at(pair, "/source")) + ", " + text_of(at(pair, "/target")));
  }
  report.add_row("begun with", "dragoman " + text_of(at(record, "/build/dragoman")));
}

/// Adds the language codes and their defaults, and the tags of each for programs.
void add_languages(Report& report, const formats::LanguageTable& table) {
  std::vector<std::string> codes;
  for (const auto& [code, tags] : table.languages) codes.push_back(core::printable(code));
  std::string usual;
  for (const auto& [side, code] : {std::pair{"source", table.source_language}, {"target", table.target_language}})
    if (!code.empty()) usual += fmt::format("; {}: {}", side, core::printable(code));
  report.add("languages", formats::to_json(table),
             codes.empty() ? "none, but every sentence has tags"
                           : fmt::format("{}{}: {}", codes.size(), usual, fmt::join(codes, " ")));
}

/// Adds the properties that all models have, whatever their files are.
void add_configuration(Report& report, const formats::ModelConfig& config) {
  report.add_settings("sequences", nn::to_json(config.sequences));
  report.add_settings("model", config.model);
  if (!config.decoding.empty()) report.add_settings("decoding", config.decoding, "decoding.");
  if (!config.languages.empty()) add_languages(report, config.languages);
}

const formats::ModelImporter* foreign_importer(const fs::path& path) {
  static const std::vector<formats::ModelImporter> importers = imports::built_in_importers();
  const auto found = std::ranges::find_if(importers, [&](const auto& importer) { return importer.recognises(path); });
  return found == importers.end() ? nullptr : &*found;
}

}  // namespace

std::string first_bytes(const fs::path& path, std::size_t count) {
  return fs::is_regular_file(path) ? core::read_beginning(path, count) : std::string();
}

Report describe_model_folder(const fs::path& path, const InspectOptions& options) {
  const auto folder = formats::ModelFolder::open(path);
  const formats::ModelConfig& config = folder.config();
  Report report;
  report.add("type", config.model_type);
  if (!config.plugin.empty()) report.add("plugin", config.plugin);
  report.add("compute", config.compute ? std::string(name_of(*config.compute)) : "not specified");
  if (options.verify) add_checksums(report, path);
  add_tokenizers(report, folder);
  add_configuration(report, config);
  report.add_part("weights", describe_weights(folder.weights_path(), options));
  return report;
}

bool is_foreign_model(const fs::path& path) {
  return foreign_importer(path) != nullptr;
}

Report describe_foreign_model(const fs::path& path, const InspectOptions&) {
  const formats::ModelImporter& importer = *foreign_importer(path);
  const std::unique_ptr<formats::OpenedModel> opened = formats::open_with(importer, path);
  const std::vector<std::string> warnings = opened->warnings();
  Report report;
  report.add("importer", importer.name);
  report.add("type", opened->config().model_type);
  add_configuration(report, opened->config());
  report.add_value("warnings", warnings);
  for (const std::string& warning : warnings) report.add_row("warning", warning);
  return report;
}

bool is_checkpoint(const fs::path& path) {
  return fs::is_regular_file(path / training::RunFiles::kState) &&
         fs::is_regular_file(path / formats::ModelFiles::kWeights);
}

Report describe_checkpoint(const fs::path& path, const InspectOptions& options) {
  Report report;
  if (options.verify) add_checksums(report, path);
  const fs::path file = path / training::RunFiles::kState;
  const Json state = core::load_json(file.string());
  require_known_state(state, file);
  report.add_settings("state", state);
  report.add_part("weights", describe_weights(path / formats::ModelFiles::kWeights, options));
  return report;
}

bool is_training_run(const fs::path& path) {
  return fs::is_regular_file(path / training::RunFiles::kRecord);
}

Report describe_training_run(const fs::path& path, const InspectOptions&) {
  const fs::path file = path / training::RunFiles::kRecord;
  const Json record = core::load_json(file.string());
  require_known(record, file, training::RunFiles::kRecordVersion);
  const Checkpoints checkpoints = read_checkpoints(path);
  const std::vector<std::string> models = parts_of_run(path, &formats::is_model_folder);
  Report report;
  add_origin(report, record);
  add_progress(report, record, checkpoints.newest, read_last_metrics(path / training::RunFiles::kMetrics));
  report.add("checkpoints", checkpoints.names, list_of(checkpoints.names));
  report.add_value("damaged_checkpoints", checkpoints.damaged);
  if (!checkpoints.problems.empty()) report.add_row("damaged checkpoints", list_of(checkpoints.problems));
  report.add("models", models, list_of(models));
  report.add_value("run", record);
  report.add_row("configuration", "stands in run.json, and in what --json shows");
  return report;
}

}  // namespace dragoman::cli
