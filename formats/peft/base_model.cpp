#include "peft/base_model.h"

#include <dragoman/core/error.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using std::filesystem::path;

/// Adapters must be added to the original weights, not to rounded ones.
void require_not_rounded(const formats::ModelFolder& folder) {
  const auto weights = formats::SafetensorsFile::open(folder.weights_path());
  for (const formats::StoredTensor& stored : weights.tensors())
    core::require(stored.dtype != tensor::DType::kI8, ErrorCode::kUnsupported,
                  "{}: the weights are rounded to int8; adapters belong to those that were not rounded",
                  weights.name());
}

}  // namespace

std::unique_ptr<formats::OpenedModel> open_base_model(const path& folder,
                                                      const std::vector<formats::ModelImporter>& importers,
                                                      const std::string& where) {
  if (formats::is_model_folder(folder)) {
    formats::verify_checksums_if_there(folder);  // the merged model gets new sums
    auto opened = std::make_unique<formats::ModelFolder>(folder);
    require_not_rounded(*opened);
    return opened;
  }
  for (const formats::ModelImporter& importer : importers) {
    if (!importer.recognises(folder)) continue;
    return formats::open_with(importer, folder);
  }
  core::fail(
      ErrorCode::kBadInput,
      "{}: the model that the adapters are for, {}, is none that is known here; convert the adapters, and name its "
      "folder as the import option `base`",
      where, folder.string());
}

}  // namespace dragoman::imports
