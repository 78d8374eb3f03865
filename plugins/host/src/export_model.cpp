#include "dragoman/plugins/export_model.h"

#include "dragoman/plugins/load_model.h"

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/input_guard.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/imports/exports.h>

namespace dragoman::plugins {
namespace {

using core::ErrorCode;
using std::filesystem::path;

const imports::ExportFormat& format_of(const std::string& name) {
  const imports::ExportFormat* format = imports::find_export_format(name);
  if (format != nullptr) return *format;
  std::vector<std::string_view> names;
  for (const imports::ExportFormat& known : imports::export_formats()) names.push_back(known.name);
  core::fail(ErrorCode::kInvalidArgument, "models are not exported as {}; known are {}", core::quote(name),
             fmt::join(names, ", "));
}

void require_free(const path& output) {
  std::error_code ignored;
  const bool is_empty_folder =
      std::filesystem::is_directory(output, ignored) && std::filesystem::is_empty(output, ignored);
  core::require(is_empty_folder || !std::filesystem::exists(std::filesystem::symlink_status(output, ignored)),
                ErrorCode::kInvalidArgument, "{}: exists already; remove it, or name another output", output.string());
}

}  // namespace

void export_model(const path& model, const path& output, const std::string& format, Host& host,
                  const std::stop_token& stop, const core::LogSink& log) {
  const core::StopScope scope(stop);
  core::check_stop("exporting a model");
  const imports::ExportFormat& form = format_of(format);
  core::require_not_an_input(output, {model});
  require_free(output);
  const std::shared_ptr<formats::OpenedModel> opened = host.open_model(model);
  if (opened->is_model_folder()) formats::verify_checksums_if_there(model);
  const LoadedModel loaded = load_model(*opened, host, {.trainable = true});
  // Otherwise the exported copy would look like a valid model.
  loaded.model->parameters().require_finite(
      (opened->is_model_folder() ? model / formats::ModelFiles::kWeights : model).string());
  core::require(loaded.config.languages.languages.empty(), ErrorCode::kUnsupported,
                "{}: has a table of languages (config.json, languages), which exports do not carry yet; translations "
                "would not begin with the token of their language",
                model.string());
  const imports::ExportedModel exported{.path = model,
                                        .config = &loaded.config,
                                        .tokenizers = opened->tokenizers(),
                                        .model = loaded.model.get(),
                                        .source_tokenizer = loaded.source_tokenizer.get(),
                                        .target_tokenizer = loaded.target_tokenizer.get(),
                                        .log = log};
  core::StagedFolder staged(output);
  form.write(exported, staged.folder());
  staged.commit();
}

}  // namespace dragoman::plugins
