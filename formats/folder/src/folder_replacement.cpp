#include "folder_replacement.h"

#include "dragoman/formats/checksums.h"
#include "dragoman/formats/finite_weights.h"
#include "dragoman/formats/model_folder.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/regular_file.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using std::filesystem::path;

/// Suffixes of files that a killed OutputFile may leave.
constexpr std::string_view kLeftovers[] = {"", core::kPartialSuffix};

bool is_model_file(const path& entry) {
  std::string name = entry.filename().string();
  if (name.ends_with(core::kPartialSuffix)) name.resize(name.size() - core::kPartialSuffix.size());
  std::error_code ignored;
  return std::filesystem::is_regular_file(entry, ignored) &&
         std::ranges::find(ModelFiles::kAll, std::string_view(name)) != ModelFiles::kAll.end();
}

void require_nothing_foreign(const path& folder) {
  std::error_code error;
  const auto status = std::filesystem::status(folder, error);
  if (!std::filesystem::exists(status)) return;
  core::require(std::filesystem::is_directory(status), ErrorCode::kInvalidArgument,
                "{}: is a file; name a folder for the model", folder.string());
  for (const path& entry : core::list_folder(folder))
    core::require(is_model_file(entry), ErrorCode::kInvalidArgument,
                  "{}: holds {}, which is not part of a model and would be lost; name another folder", folder.string(),
                  core::quote(entry.filename().string()));
}

/// Removes the files of a model, and then the folder if it is empty.
void remove_model(const path& folder) noexcept {
  try {
    std::error_code ignored;
    for (const std::string_view name : ModelFiles::kAll)
      for (const std::string_view suffix : kLeftovers)
        std::filesystem::remove(folder / (std::string(name) += suffix), ignored);
    std::filesystem::remove(folder, ignored);
  } catch (const std::bad_alloc&) {
    // The next writer of this folder removes the rest.
  }
}

path replaceable(const path& target) {
  require_replaceable(target);
  return target;
}

}  // namespace

void require_replaceable(const path& target) {
  const path resolved = core::resolve_folder(target);
  require_nothing_foreign(resolved);
  for (const std::string_view suffix : {core::kPartialSuffix, core::kReplacedSuffix})
    require_nothing_foreign(resolved.string() + std::string(suffix));
}

FolderReplacement::FolderReplacement(const path& target) : staged_(replaceable(target), remove_model) {}

void FolderReplacement::add_copy(const path& file) {
  core::RegularFile input(file);
  core::OutputFile output(folder() / file.filename(), {.partial = core::PartialPolicy::kTemporary});
  std::vector<char> block(std::size_t{1} << 20);
  while (const std::size_t bytes = input.read(block)) output.write({block.data(), bytes});
  output.commit();
}

void FolderReplacement::commit(const std::string& weights_from, FolderSums sums) {
  require_finite_weights(SafetensorsFile::open(folder() / ModelFiles::kWeights), weights_from);
  if (sums == FolderSums::kWritten) write_checksums(folder());
  staged_.commit();
}

}  // namespace dragoman::formats
