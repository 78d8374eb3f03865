#include "dragoman/pipeline/job_identity.h"
#include "dragoman/pipeline/pipeline.h"
#include "dragoman/pipeline/stage_options.h"
#include "dragoman/pipeline/translator.h"
#include "settings/stage_settings.h"
#include "text/split_stage.h"
#include "text/text_stages.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/name_hints.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/option_spelling.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/decoding/option_table.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::pipeline {
namespace {

using core::ErrorCode;
using core::Json;

ReadOptions read_options(const ReadSettings& settings, const core::OptionReader& options) {
  options.check(settings.column == ReadSettings().column || settings.format == RecordFormat::kTsv, "column",
                "is for the format tsv; leave it out, or set that");
  options.check(settings.key == ReadSettings().key || settings.format == RecordFormat::kJsonl, "key",
                "is for the format jsonl; leave it out, or set that");
  for (const auto& [name, column] : {std::pair{"target_prefix_column", settings.target_prefix_column},
                                     {"source_language_column", settings.source_language_column},
                                     {"target_language_column", settings.target_language_column}})
    options.check(column == 0 || settings.format == RecordFormat::kTsv, name,
                  "is for the format tsv; leave it out, or set that");
  options.check(
      settings.target_prefix_file.empty() || settings.format != RecordFormat::kJsonl, "target_prefix_file",
      "is not for the format jsonl, whose lines contain the prefix: {\"source\": ..., \"target_prefix\": ...}");
  const bool reads_stream = settings.paths.empty() || std::ranges::find(settings.paths, "-") != settings.paths.end();
  options.check(settings.target_prefix_file != "-" || !reads_stream, "target_prefix_file",
                "cannot be standard input, which is the text");
  options.check(settings.target_prefix_file.empty() || settings.target_prefix_column == 0, "target_prefix_file",
                "and target_prefix_column both name the prefixes; set one of them");
  options.check(std::ranges::count(settings.paths, "-") < 2, "path", "standard input can be read once");
  const std::vector<std::string> paths = settings.paths.empty() ? std::vector<std::string>{"-"} : settings.paths;
  return {.path = paths.front(),
          .further_paths = {paths.begin() + 1, paths.end()},
          .shard = settings.shard,
          .format = settings.format,
          .key = settings.key,
          .column = settings.column,
          .target_prefix_path = settings.target_prefix_file,
          .target_prefix_column = settings.target_prefix_column,
          .source_language_column = settings.source_language_column,
          .target_language_column = settings.target_language_column};
}

WriteOptions write_options(const WriteSettings& settings, const core::OptionReader& options) {
  options.check(!settings.resume || !settings.overwrite, "resume",
                "continues the file that overwrite discards; set one of them");
  const bool is_stream = settings.path == "-";
  options.check(!settings.resume || !is_stream, "resume", "needs a file: what went to standard output is gone");
  options.check(!settings.overwrite || !is_stream, "overwrite", "needs a file: standard output has no partial one");
  options.check(settings.column == WriteSettings().column || settings.format == RecordFormat::kTsv, "column",
                "is for the format tsv; leave it out, or set that");
  options.check(!settings.stream || (is_stream && settings.format == RecordFormat::kText), "stream",
                "shows text on standard output; leave out path and format, or stream");
  WriteOptions write{
      .path = settings.path, .format = settings.format, .column = settings.column, .stream = settings.stream};
  if (settings.resume) write.partial = core::PartialPolicy::kResume;
  if (settings.overwrite) write.partial = core::PartialPolicy::kReplace;
  return write;
}

/// Calls the function with the model and, of an ensemble, with the others.
template <class Function>
void for_each_model(const Model& model, const Function& function) {
  function(model);
  for (const Model& other : model.others()) function(other);
}

/// Returns "int8", or "fp32, int8" for an ensemble of such models.
std::string compute_types_of(const Model& model) {
  std::vector<std::string_view> types;
  for_each_model(model, [&](const Model& each) { types.push_back(name_of(each.compute_type())); });
  if (std::ranges::all_of(types, [&](std::string_view type) { return type == types.front(); })) types.resize(1);
  return fmt::format("{}", fmt::join(types, ", "));
}

/// Returns true if a folder leaves the type to the program, and it is not fp32.
bool chose_rounded_type(const Model& model) {
  bool found = false;
  for_each_model(model, [&](const Model& each) {
    const bool open = each.config().compute.value_or(tensor::ComputeChoice::kAuto) == tensor::ComputeChoice::kAuto;
    found = found || (open && each.compute_type() != tensor::ComputeType::kF32);
  });
  return found;
}

class Builder {
 public:
  /// `writes_file`: whether the output goes to a file.
  Builder(plugins::Host& host, int threads, bool writes_file)
      : host_(&host), threads_(threads), identity_(writes_file) {}

  void add(const std::string& name, const Json& settings, const std::string& where) {
    core::OptionReader options(settings, where);
    settings_ = &settings;
    // The order of stages would otherwise be ambiguous.
    core::require(name != "read" || stages_ == 0, ErrorCode::kBadInput, "{}: must be the first stage", where);
    core::require(!write_, ErrorCode::kBadInput, "{}: comes after write, which must be the last stage", where);
    has_read_ = has_read_ || name == "read";
    ++stages_;
    if (name != "write") last_stage_ = name;
    if (name == "translate") {
      // Its settings are completed first.
    } else if (const BuiltInStage* known = find_built_in_stage(name)) {
      add_to_job(name, settings, known->input_file_options, known->non_semantic_options);
    } else if (const auto* registered = host_->registry().stages().find(name)) {
      add_to_job(name, settings, registered->entry.input_file_options, registered->entry.non_semantic_options);
    }
    if (const auto built_in = adders().find(name); built_in != adders().end())
      (this->*built_in->second)(options);
    else
      pipeline_.add(registered_stage(name, options));
    options.finish();
  }
  /// `where` names the configuration in errors.
  Pipeline take(const std::string& where) {
    core::require(has_read_ && write_, ErrorCode::kBadInput,
                  "{}: stages: a pipeline needs a read stage and a write stage; the first must be read, the last write",
                  where);
    const bool keeps_details = write_->format == RecordFormat::kJsonl || any_plugin_;
    core::require(
        !makes_details_ || keeps_details, ErrorCode::kBadInput,
        "{}: n_best and alignment of translate need `write: {{format: jsonl}}`: text has one line per input line",
        where);
    core::require(!shows_attention_ || keeps_details, ErrorCode::kBadInput,
                  "{}: attention of translate needs attention_svg, attention_npy or `write: {{format: jsonl}}`", where);
    core::require(!write_->stream || last_stage_ == "translate", ErrorCode::kBadInput,
                  "{}: stream of write needs translate right before it: the effect of other stages on a line is known "
                  "only when the line is complete",
                  where);
    if (write_->path != "-") write_->identity = identity_.text();
    pipeline_.write(std::move(*write_));
    return std::move(pipeline_);
  }

 private:
  void add_to_job(const std::string& name, const Json& settings, const std::vector<std::string>& input_file_options,
                  const std::vector<std::string>& non_semantic_options) {
    identity_.add_stage(name, settings, input_file_options, non_semantic_options);
    for (const std::string& option : input_file_options) {
      if (!settings.is_object() || !settings.contains(option)) continue;
      const Json& value = settings[option];
      for (const Json& file : value.is_array() ? value : Json::array({value}))
        if (file.is_string() && !file.get<std::string>().empty()) pipeline_.add_input(file.get<std::string>());
    }
  }

  /// Opens the model, and completes unset settings from its folder. A wrong name of the folder is reported when the
  /// model is loaded. Returns the search defaults of the folder.
  decoding::Search complete_translation(TranslateSettings& settings) {
    TranslateOptions& translate = settings.options;
    if (translate.ignore_model_defaults || !std::filesystem::is_directory(settings.model)) return {};
    opened_ = host_->open_model(settings.model);
    const Json defaults = plugins::config_of(*opened_).decoding;
    decoding::Search search = decoding::read_model_defaults(defaults, settings.model);
    translate.search = decoding::merged(std::move(translate.search), search);
    if (defaults.contains(decoding::kShortlistKey) && translate.shortlist.path.empty() &&
        settings.ensemble.models.empty())
      translate.shortlist.path = (std::filesystem::path(settings.model) / formats::ModelFiles::kShortlist).string();
    return search;
  }

  /// Returns the settings in the form of a configuration in which every key is set.
  Json whole_settings(const TranslateSettings& settings) const {
    Json all = *settings_;
    decoding::search_table().write(settings.options.search, all);
    for (const core::Option& option : translate_table().options())
      if (!all.contains(option.name) && !option.fallback.get().is_null()) all[option.name] = option.fallback.get();
    const ShortlistSettings& shortlist = settings.options.shortlist;
    if (!shortlist.path.empty()) all["shortlist"] = shortlist.none() ? "" : shortlist.path;
    return all;
  }

  /// Returns the functions that add each of built_in_stages().
  static const std::map<std::string_view, void (Builder::*)(core::OptionReader&)>& adders() {
    static const std::map<std::string_view, void (Builder::*)(core::OptionReader&)> all = {
        {"read", &Builder::add_read},           {"write", &Builder::add_write},
        {"translate", &Builder::add_translate}, {"split", &Builder::add_split},
        {"normalize", &Builder::add_normalize}, {"encode", &Builder::add_encode},
        {"decode", &Builder::add_decode},
    };
    return all;
  }

  void add_read(core::OptionReader& options) {
    pipeline_.read(read_options(read_settings(options, read_table()), options));
  }

  void add_write(core::OptionReader& options) {
    write_ = write_options(read_settings(options, write_table()), options);
  }

  void add_translate(core::OptionReader& options) {
    auto settings = read_settings(options, translate_table(), "model");
    const decoding::Search model_defaults = complete_translation(settings);
    const BuiltInStage& known = *find_built_in_stage("translate");
    add_to_job("translate", whole_settings(settings), known.input_file_options, known.non_semantic_options);
    TranslateStageOptions stage = prepare_translate_options(settings, options, *host_, model_defaults);
    const TranslateOptions& translate = stage.translate;
    options.check(!translate.input_pieces || !marks_sentences_, "input_pieces",
                  "`split` finds sentences in text and not in pieces; leave one of them out");
    options.check(!marks_sentences_ || translate.markup == splits_markup_, "markup",
                  "must be the same for `split` and `translate`");
    marks_sentences_ = false;
    if (stage.model.threads == 0) stage.model.threads = threads_;
    const tensor::Device device = stage.model.device.resolve(*host_);
    if (settings.device == runtime::kAutoDevice)
      pipeline_.add_note(fmt::format("translate: device {}", tensor::name_of(device)));
    const AttentionSettings& attention = translate.attention;
    pipeline_.add_check([attention] { require_empty_folders(attention); });
    shows_attention_ = shows_attention_ || (attention.kind && attention.svg.empty() && attention.npy.empty());
    const decoding::DecodingOptions search = translate.resolved(model_defaults);
    makes_details_ = makes_details_ || search.n_best > 1 || search.want_alignment;
    const Model model(settings.model, *host_, stage.model, stage.ensemble);
    // Records the folders' settings and the meaning of `auto`: another machine may continue the output.
    const std::string types = compute_types_of(model);
    identity_.resolve("compute", types == name_of(tensor::ComputeType::kF32) ? Json() : Json(types));
    if (stage.model.compute == tensor::ComputeChoice::kAuto && chose_rounded_type(model))
      pipeline_.add_note(fmt::format("translate: compute {}, the fastest type here; `compute` sets another", types));
    pipeline_.add(std::make_unique<TranslateService>(model, translate));
  }

  void add_split(core::OptionReader& options) {
    const SplitSettings settings = read_settings(options, split_table());
    try {
      pipeline_.add(std::make_unique<SplitStage>(settings.locale, settings.markup));
      marks_sentences_ = true;
      splits_markup_ = settings.markup;
    } catch (const core::Error& error) {
      core::fail(error.code(), "{}: locale: {}", options.where(), error.what());
    }
  }
  void add_normalize(core::OptionReader& options) {
    pipeline_.add(make_normalize_stage(read_settings(options, normalize_table())));
  }
  void add_encode(core::OptionReader& options) {
    marks_sentences_ = false;
    pipeline_.add(make_encode_stage(read_settings(options, encode_table(), "tokenizer"), host_->registry()));
  }
  void add_decode(core::OptionReader& options) {
    pipeline_.add(make_decode_stage(read_settings(options, decode_table(), "tokenizer"), host_->registry()));
  }

  std::unique_ptr<const MapStage> registered_stage(const std::string& name, core::OptionReader& options) {
    any_plugin_ = true;
    if (host_->registry().stages().find(name) == nullptr) fail_unknown(name, options.where());
    return host_->registry().stages().get(name).make(options);
  }

  [[noreturn]] void fail_unknown(const std::string& name, const std::string& where) const {
    std::vector<std::string> known;
    for (const BuiltInStage& stage : built_in_stages()) known.emplace_back(stage.name);
    for (const auto& registered : host_->registry().stages().all()) known.push_back(registered->entry.name);
    core::fail_option("plugin", ErrorCode::kBadInput,
                      "{}: no stage is called {}{}; there are: {}; others come with a plugin (`plugin`)", where,
                      core::quote(name), core::did_you_mean(name, {}, known), fmt::join(known, ", "));
  }

  plugins::Host* host_;
  int threads_;
  Pipeline pipeline_;
  std::optional<WriteOptions> write_;
  int stages_ = 0;
  bool has_read_ = false;
  std::string last_stage_;  ///< before `write`
  /// Whether translations have details, which only jsonl can contain. A plugin's stage may use them, though.
  bool makes_details_ = false;
  bool shows_attention_ = false;
  bool marks_sentences_ = false;  ///< `split` has marked the sentences of the text
  Markup splits_markup_ = Markup::kNone;
  bool any_plugin_ = false;
  JobIdentity identity_;
  const Json* settings_ = nullptr;  ///< settings of the stage that is being added
  /// The model of that stage, kept so that the stage does not open it again.
  std::shared_ptr<formats::OpenedModel> opened_;
};

/// The identity of a job compares each stage with all previous ones.
constexpr std::size_t kMaxStages = 1000;

/// Returns whether a stage writes to a file rather than to standard output.
bool writes_file(const Json& stages) {
  return std::ranges::any_of(stages, [](const Json& stage) {
    if (!stage.is_object() || !stage.contains("write") || !stage["write"].is_object()) return false;
    const Json& options = stage["write"];
    return options.contains("path") && options["path"] != "-";
  });
}

}  // namespace

Pipeline make_pipeline(const core::Json& configuration, const std::string& where, plugins::Host& host, int threads) {
  core::OptionReader top(configuration, where);
  const Json& stages = top.subtree("stages");
  core::require(stages.is_array() && !stages.empty(), ErrorCode::kBadInput, "{}: stages: expected a list of stages",
                where);
  core::require(stages.size() <= kMaxStages, ErrorCode::kBadInput, "{}: stages: {} of them; a pipeline has at most {}",
                where, stages.size(), kMaxStages);
  top.finish();
  Builder builder(host, threads, writes_file(stages));
  std::size_t number = 0;
  for (const Json& stage : stages) {
    ++number;
    core::require(stage.is_object() && stage.size() == 1, ErrorCode::kBadInput,
                  "{}: stage {}: write it as `- name: {{options}}`, one name per list entry", where, number);
    const std::string name = stage.begin().key();
    const std::string place = fmt::format("{}: stage {} ({})", where, number, core::printable(name, 80));
    builder.add(name, core::spelled_with_underscores(stage.begin().value(), place), place);
  }
  return builder.take(where);
}

}  // namespace dragoman::pipeline
