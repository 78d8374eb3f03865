#include "dragoman/plugins/export_model.h"

#include "dragoman/plugins/load_model.h"

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/input_guard.h>
#include <dragoman/core/quote.h>
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

void export_model(const path& folder, const path& output, const std::string& format, Host& host) {
  const imports::ExportFormat& form = format_of(format);
  core::require_not_an_input(output, {folder});
  core::require_not_in_the_way(folder, output);
  require_free(output);
  core::require(formats::is_model_folder(folder), ErrorCode::kInvalidArgument,
                "{}: is no model folder; other toolkits' models are brought into that form first: `dragoman convert` "
                "without --to",
                folder.string());
  const LoadedModel loaded = load_model(folder, host, {.trainable = true});
  core::require(loaded.config.languages.languages.empty(), ErrorCode::kUnsupported,
                "{}: has a table of languages (config.json, languages), which exports do not carry yet; translations "
                "would not begin with the token of their language",
                folder.string());
  const imports::ExportedModel exported{.folder = folder,
                                        .config = &loaded.config,
                                        .model = loaded.model.get(),
                                        .source_tokenizer = loaded.source_tokenizer.get(),
                                        .target_tokenizer = loaded.target_tokenizer.get()};
  core::StagedFolder staged(output);
  form.write(exported, staged.folder());
  staged.commit();
}

}  // namespace dragoman::plugins
