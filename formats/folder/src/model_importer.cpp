#include "dragoman/formats/model_importer.h"

#include "dragoman/formats/model_folder.h"
#include "models_within.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/lfs_pointer.h>
#include <dragoman/core/option_error.h>

namespace dragoman::formats {

const ModelImporter* find_importer(std::span<const ModelImporter* const> importers, const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) && !std::filesystem::is_directory(path, ignored)) return nullptr;
  const ModelImporter* found = nullptr;
  std::vector<std::string> names;
  for (const ModelImporter* importer : importers) {
    if (!importer->recognises(path)) continue;
    names.push_back(importer->name);
    found = importer;
  }
  core::require_option(names.size() <= 1, "from", core::ErrorCode::kInvalidArgument,
                       "{}: looks like a model for several importers: {}; name one (`from`)", path.string(),
                       fmt::join(names, ", "));
  return found;
}

void explain_unrecognised(std::span<const ModelImporter* const> importers, const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (is_folder && !std::filesystem::exists(path / ModelFiles::kConfig, ignored)) {
    const auto is_model = [&](const std::filesystem::path& folder) {
      return is_model_folder(folder) ||
             std::ranges::any_of(importers, [&](const ModelImporter* one) { return one->recognises(folder); });
    };
    const std::string models = describe_models_within(path, is_model);
    core::require(models.empty(), core::ErrorCode::kBadInput, "{}", models);
  }
  for (const std::filesystem::path& file : is_folder ? core::list_folder(path) : std::vector{path}) {
    constexpr std::size_t kEnough = 1024;
    if (std::filesystem::is_regular_file(file, ignored))
      core::require_no_lfs_pointer(core::read_beginning(file, kEnough), file.string());
  }
  for (const ModelImporter* importer : importers) {
    const std::string reason = importer->why_not ? importer->why_not(path) : std::string();
    core::require(reason.empty(), core::ErrorCode::kBadInput, "{}", reason);
  }
}

std::unique_ptr<OpenedModel> open_with(const ModelImporter& importer, const std::filesystem::path& path,
                                       const core::Json& options) {
  core::OptionReader own(options, fmt::format("options of the importer {}", importer.name));
  std::unique_ptr<OpenedModel> opened = importer.make(path, own);
  own.finish();
  // The configuration must satisfy the same rules as the one of a model folder.
  read_model_config(to_json(opened->config()), path.string());
  return opened;
}

std::unique_ptr<OpenedModel> open_model(const std::filesystem::path& path,
                                        std::span<const ModelImporter* const> importers) {
  if (!is_model_folder(path)) {
    if (const ModelImporter* const importer = find_importer(importers, path)) return open_with(*importer, path);
    explain_unrecognised(importers, path);
  }
  return std::make_unique<ModelFolder>(path);
}

}  // namespace dragoman::formats
