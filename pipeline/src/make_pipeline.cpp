#include "dragoman/pipeline/pipeline.h"
#include "dragoman/pipeline/stage_options.h"
#include "dragoman/pipeline/translator.h"
#include "job_identity.h"
#include "split_stage.h"
#include "text_stages.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/nearest_name.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::pipeline {
namespace {

using core::ErrorCode;
using core::Json;

/// Options may be written with '-' (as on the command line) or '_'.
Json with_underscores(const Json& options, const std::string& where) {
  if (!options.is_object()) return options;
  Json result = Json::object();
  for (const auto& [key, value] : options.items()) {
    std::string name = key;
    for (char& c : name) c = c == '-' ? '_' : c;
    core::require(!result.contains(name), ErrorCode::kBadInput, "{}: {} stands there twice, once spelled with '-'",
                  where, core::quote(name));
    result[name] = value;
  }
  return result;
}

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
      "is not for the format jsonl, whose lines say it themselves: {\"source\": ..., \"target_prefix\": ...}");
  const bool reads_stream = settings.paths.empty() || std::ranges::find(settings.paths, "-") != settings.paths.end();
  options.check(settings.target_prefix_file != "-" || !reads_stream, "target_prefix_file",
                "cannot be standard input, which is the text");
  options.check(settings.target_prefix_file.empty() || settings.target_prefix_column == 0, "target_prefix_file",
                "says what target_prefix_column says; set one of them");
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
                "goes on with what overwrite throws away; set one of them");
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

/// The translate stage together with the model that it uses.
class TranslateStage final : public Service {
 public:
  TranslateStage(const std::string& model, plugins::Host& host, const TranslateOptions& options)
      : model_(model, host, packing_of(options)), service_(host.runtime(), model_.view(), options) {}
  void run(RecordSource& source, RecordSink& sink, std::stop_source stop) override {
    service_.run(source, sink, std::move(stop));
  }
  void add_counts(LineCounts& counts) const override { service_.add_counts(counts); }
  void add_figures(std::vector<std::pair<std::string, double>>& figures) const override {
    service_.add_figures(figures);
  }
  tensor::ComputeType compute_type() const noexcept { return model_.compute_type(); }

 private:
  LoadedTranslationModel model_;
  TranslateService service_;
};

class Builder {
 public:
  /// `writes_file`: whether the output goes to a file.
  Builder(plugins::Host& host, int threads, bool writes_file)
      : host_(&host), threads_(threads), identity_(writes_file) {}

  void add(const std::string& name, Json settings, const std::string& where) {
    if (name == "translate") complete_translation(settings);
    core::OptionReader options(settings, where);
    // What stands elsewhere would be understood in one way or another.
    core::require(name != "read" || stages_ == 0, ErrorCode::kBadInput, "{}: must be the first stage", where);
    core::require(!write_, ErrorCode::kBadInput, "{}: stands behind write, which must be the last stage", where);
    ++stages_;
    if (name != "write") last_stage_ = name;
    if (const BuiltInStage* known = find_built_in_stage(name))
      add_to_job(name, settings, known->content_options, known->idle_options);
    else if (const auto* registered = host_->registry().stages().find(name))
      add_to_job(name, settings, registered->entry.content_options, registered->entry.idle_options);
    if (const auto built_in = adders().find(name); built_in != adders().end())
      (this->*built_in->second)(options);
    else
      pipeline_.add(registered_stage(name, options));
    options.finish();
  }
  Pipeline take() {
    if (write_) {
      const bool keeps_details = write_->format == RecordFormat::kJsonl || any_plugin_;
      core::require(
          !makes_details_ || keeps_details, ErrorCode::kBadInput,
          "n_best and alignment of translate need `write: {{format: jsonl}}`: text has one line per input line");
      core::require(!shows_attention_ || keeps_details, ErrorCode::kBadInput,
                    "attention of translate needs attention_svg, attention_npy or `write: {{format: jsonl}}`");
      core::require(!write_->stream || last_stage_ == "translate", ErrorCode::kBadInput,
                    "stream of write needs translate right before it: what other stages do to a line is known when it "
                    "is done");
      if (write_->path != "-") write_->identity = identity_.text();
      pipeline_.write(std::move(*write_));
    }
    return std::move(pipeline_);
  }

 private:
  void add_to_job(const std::string& name, const Json& settings, const std::vector<std::string>& content_options,
                  const std::vector<std::string>& idle_options) {
    identity_.add_stage(name, settings, content_options, idle_options);
    for (const std::string& option : content_options) {
      if (!settings.is_object() || !settings.contains(option)) continue;
      const Json& value = settings[option];
      for (const Json& file : value.is_array() ? value : Json::array({value}))
        if (file.is_string() && !file.get<std::string>().empty()) pipeline_.add_input(file.get<std::string>());
    }
  }

  /// What nobody says comes from the model's folder. What is wrong with the folder's name is for the stage to say.
  void complete_translation(Json& settings) {
    model_defaults_ = Json::object();
    if (!settings.is_object()) return;
    const auto model = settings.find("model");
    const auto ignored = settings.find("ignore_model_defaults");
    if (model != settings.end() && model->is_string() && (ignored == settings.end() || *ignored == false) &&
        std::filesystem::is_directory(model->get<std::string>()))
      model_defaults_ = plugins::load_config(model->get<std::string>(), host_->registry()).decoding;
    settings = decoding::complete_settings(std::move(settings), model_defaults_);
    complete_shortlist(settings);
  }

  /// The model's own, unless the user names one, or none, or several models, which have no shortlist in common.
  void complete_shortlist(Json& settings) const {
    const auto unsaid = [&settings](const char* key) {
      const auto said = settings.find(key);
      return said == settings.end() || said->empty() || *said == "";
    };
    if (model_defaults_.contains(decoding::kShortlistKey) && unsaid("shortlist") && unsaid("ensemble")) {
      const std::filesystem::path folder(settings["model"].get<std::string>());
      settings["shortlist"] = (folder / formats::ModelFiles::kShortlist).string();
    }
    if (const auto said = settings.find("shortlist"); said != settings.end() && *said == ShortlistSettings::kNone)
      *said = "";
  }

  /// How each of built_in_stages() is added.
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
    const auto model = options.require_key<std::string>("model");
    TranslateOptions translate =
        read_translate_options(options, *host_, decoding::read_model_defaults(model_defaults_, model));
    if (translate.threads == 0) translate.threads = threads_;
    if (options.get("device", std::string()) == runtime::kAutoDevice)
      pipeline_.add_note(fmt::format("translate: device {}", tensor::name_of(translate.device)));
    if (translate.compute == tensor::ComputeChoice::kAuto)
      pipeline_.add_note("translate: " + host_->runtime().describe_automatic_compute(translate.device));
    const AttentionSettings& attention = translate.attention;
    pipeline_.add_check([attention] { require_empty_folders(attention); });
    shows_attention_ = shows_attention_ || (attention.kind && attention.svg.empty() && attention.npy.empty());
    makes_details_ = makes_details_ || translate.decoding.n_best > 1 || translate.decoding.want_alignment;
    auto stage = std::make_unique<TranslateStage>(model, *host_, translate);
    // What the folder says and what `auto` is: another machine may go on with the output.
    const bool usual = stage->compute_type() == tensor::ComputeType::kF32;
    identity_.resolve("compute", usual ? Json() : Json(name_of(stage->compute_type())));
    pipeline_.add(std::move(stage));
  }

  void add_split(core::OptionReader& options) {
    const std::string locale = read_settings(options, split_table()).locale;
    try {
      pipeline_.add(std::make_unique<SplitStage>(locale));
    } catch (const core::Error& error) {
      core::fail(error.code(), "{}: locale: {}", options.where(), error.what());
    }
  }
  void add_normalize(core::OptionReader& options) {
    pipeline_.add(make_normalize_stage(read_settings(options, normalize_table())));
  }
  void add_encode(core::OptionReader& options) {
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
    const std::string nearest = core::nearest_name(name, known);
    core::fail(ErrorCode::kBadInput, "{}: no stage is called {}{}; there are: {}; others need --plugin FILE", where,
               core::quote(name), nearest.empty() ? std::string() : fmt::format(", did you mean '{}'?", nearest),
               fmt::join(known, ", "));
  }

  plugins::Host* host_;
  int threads_;
  Pipeline pipeline_;
  std::optional<WriteOptions> write_;
  int stages_ = 0;
  std::string last_stage_;  ///< before write
  /// What only jsonl has a place for; but a plugin's stage may do something with it.
  bool makes_details_ = false;
  bool shows_attention_ = false;
  bool any_plugin_ = false;
  JobIdentity identity_;
  Json model_defaults_ = Json::object();  ///< of the translate stage that is being added
};

/// Whether a stage writes to something else than standard output.
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
  top.finish();
  Builder builder(host, threads, writes_file(stages));
  std::size_t number = 0;
  for (const Json& stage : stages) {
    ++number;
    core::require(stage.is_object() && stage.size() == 1, ErrorCode::kBadInput,
                  "{}: stage {}: write it as `- name: {{options}}`, one name per list entry", where, number);
    const std::string name = stage.begin().key();
    const std::string place = fmt::format("{}: stage {} ({})", where, number, core::printable(name, 80));
    builder.add(name, with_underscores(stage.begin().value(), place), place);
  }
  return builder.take();
}

}  // namespace dragoman::pipeline
