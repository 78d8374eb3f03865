#include "dragoman/plugins/import_model.h"

#include "dragoman/plugins/load_model.h"
#include "dragoman/plugins/model_reference.h"
#include "make_model.h"

#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/fingerprint.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/input_guard.h>
#include <dragoman/core/lfs_pointer.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::plugins {
namespace {

using core::ErrorCode;
using std::filesystem::path;

/// Throws if it can be said why nobody recognises the path.
void explain(const Registry& registry, const path& from) {
  const bool is_folder = std::filesystem::is_directory(from);
  for (const path& file : is_folder ? core::list_folder(from) : std::vector{from}) {
    constexpr std::size_t kEnough = 1024;
    if (std::filesystem::is_regular_file(file))
      core::require_no_lfs_pointer(core::read_beginning(file, kEnough), file.string());
  }
  for (const auto& registered : registry.model_importers().all()) {
    if (!registered->entry.why_not) continue;
    const std::string reason = registered->entry.why_not(from);
    if (!reason.empty()) core::fail(ErrorCode::kBadInput, "{}", reason);
  }
}

const ModelImporterEntry& importer_for(const Registry& registry, const path& from, const std::string& name) {
  if (!name.empty()) return registry.model_importers().get(name);
  if (formats::is_model_folder(from)) {
    formats::load_model_config(from);  // says what is wrong with one that cannot be read
    core::fail(ErrorCode::kInvalidArgument, "{}: is a model folder already, there is nothing to import", from.string());
  }
  const ModelImporterEntry* found = find_importer(registry, from);
  if (found == nullptr) explain(registry, from);
  core::require(found != nullptr, ErrorCode::kInvalidArgument,
                "{}: no importer recognises it; `dragoman plugins list` shows those that there are, others need "
                "--plugin FILE",
                from.string());
  return *found;
}

/// Reads one parameter after the other, and lets the importer finish after the last.
class ForeignValues {
 public:
  ForeignValues(ForeignModel& foreign, const nn::ParameterStore& store, const path& from, std::stop_token stop)
      : foreign_(foreign), store_(store), from_(from), stop_(std::move(stop)) {}

  void read(const nn::Parameter& parameter, const tensor::Tensor& out) {
    if (stop_.stop_requested())
      core::fail(ErrorCode::kInterrupted, "{}: interrupted while it was imported", from_.string());
    foreign_.read(parameter, out);
    const auto* bytes = reinterpret_cast<const char*>(out.as<float>());
    fingerprints_.emplace_back(parameter.name,
                               core::fingerprint({bytes, static_cast<std::size_t>(out.size()) * sizeof(float)}));
    if (&parameter == &store_.all().back()) foreign_.finish();
  }
  /// Of what was read, by parameter.
  std::vector<std::pair<std::string, std::uint64_t>> take_fingerprints() { return std::move(fingerprints_); }

 private:
  ForeignModel& foreign_;
  const nn::ParameterStore& store_;
  const path& from_;
  std::stop_token stop_;
  std::vector<std::pair<std::string, std::uint64_t>> fingerprints_;
};

/// As config.json will name it: by who has registered the kind, whatever the importer says.
formats::TokenizerContent with_provider(formats::TokenizerContent tokenizer, const path& from, Host& host,
                                        bool may_load) {
  if (tokenizer.empty()) return tokenizer;
  require_plugin(tokenizer.stored.plugin, "tokenizer", from.string(), host, may_load);
  tokenizer.stored.plugin = plugin_of(host.registry().tokenizers(), tokenizer.stored.kind.type);
  return tokenizer;
}

}  // namespace

const ModelImporterEntry* find_importer(const Registry& registry, const path& from) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(from, ignored) && !std::filesystem::is_directory(from, ignored)) return nullptr;
  const ModelImporterEntry* found = nullptr;
  std::vector<std::string> names;
  for (const auto& registered : registry.model_importers().all()) {
    if (!registered->entry.recognises(from)) continue;
    names.push_back(registered->entry.name);
    found = &registered->entry;
  }
  core::require(names.size() <= 1, ErrorCode::kInvalidArgument,
                "{}: looks like a model for several importers: {}; name one (--from)", from.string(),
                fmt::join(names, ", "));
  return found;
}

void import_model(const path& from, const path& output, Host& host, const ImportOptions& options) {
  core::require_not_an_input(output, {from});
  core::require_not_in_the_way(from, output);
  formats::require_replaceable(output);
  const ModelImporterEntry& importer = importer_for(host.registry(), from, options.importer);
  core::OptionReader own(options.options, fmt::format("options of the importer {}", importer.name));
  const std::unique_ptr<ForeignModel> foreign = importer.make(from, own);
  own.finish();
  const ModelDescription described = foreign->describe();
  for (const std::string& warning : described.warnings) core::log(options.log, core::LogLevel::kWarning, warning);
  const bool may_load = options.may_load_plugin;
  require_plugin(described.plugin, "model", from.string(), host, may_load);
  const auto model =
      make_empty_model(described.model_type, described.sequences, described.model, from.string(), host.registry());
  foreign->check(model->parameters());
  ForeignValues values(*foreign, model->parameters(), from, options.stop);
  formats::write_model_folder(
      output,
      {.model_type = described.model_type,
       .plugin = plugin_of(host.registry().models(), described.model_type),
       .model = model.get(),
       .tokenizer = with_provider(described.tokenizer, from, host, may_load),
       .source_tokenizer = with_provider(described.source_tokenizer, from, host, may_load),
       .target_tokenizer = with_provider(described.target_tokenizer, from, host, may_load),
       .card = described.card,
       .values = [&](const nn::Parameter& parameter, const tensor::Tensor& out) { values.read(parameter, out); },
       .values_from = from.string(),
       .decoding = described.decoding,
       .shortlist = described.shortlist,
       .languages = described.languages,
       .reference =
           [&](const path& folder) {
             return make_model_reference(folder, host, values.take_fingerprints(), options.stop);
           },
       .opener = tokenizer_opener(host, may_load)});
}

}  // namespace dragoman::plugins
