#include "dragoman/plugins/quantize_model.h"

#include "dragoman/plugins/load_model.h"
#include "make_model.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/input_guard.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/model_reference.h>

namespace dragoman::plugins {
namespace {

using core::ErrorCode;
using formats::ModelFiles;
using std::filesystem::path;

tensor::DType stored_type(tensor::ComputeChoice type) {
  core::require(type == tensor::ComputeChoice::kBF16 || type == tensor::ComputeChoice::kI8, ErrorCode::kInvalidArgument,
                "a model is rounded to bf16 or int8, not to {}", name_of(type));
  return type == tensor::ComputeChoice::kBF16 ? tensor::DType::kBF16 : tensor::DType::kI8;
}

std::string rounded_card(const formats::OpenedModel& opened, tensor::ComputeChoice type) {
  const std::string card = opened.card();
  return fmt::format(
      "{}{}## Rounded weights\n\nMatrices were rounded to {} from the model {}; what stands above was said "
      "of that.\n",
      card, card.empty() ? "" : "\n", name_of(type),
      std::filesystem::absolute(opened.path()).lexically_normal().filename().string());
}

/// Returns the reference of the model before rounding, if the folder has one.
std::string reference_of(const path& folder) {
  const path file = folder / ModelFiles::kReference;
  return std::filesystem::exists(file) ? core::read_regular_file(file, formats::ModelReference::kLargest)
                                       : std::string();
}

/// Reads the metadata of a model folder's weights. Error{kBadInput} if they are already int8.
formats::Metadata metadata_of(const path& folder) {
  const auto file = formats::SafetensorsFile::open(folder / ModelFiles::kWeights);
  for (const formats::StoredTensor& stored : file.tensors())
    core::require(stored.dtype != tensor::DType::kI8, ErrorCode::kBadInput,
                  "{}: the model is one of int8 already; round the one that it was made of", folder.string());
  return file.metadata();
}

}  // namespace

void quantize_model(const path& model, const path& output, tensor::ComputeChoice type, Host& host,
                    const std::stop_token& stop) {
  const core::StopScope scope(stop);
  core::check_stop("rounding a model");
  const tensor::DType dtype = stored_type(type);
  core::require_not_an_input(output, {model});
  const std::shared_ptr<formats::OpenedModel> opened = host.open_model(model);
  if (opened->is_model_folder()) formats::verify_checksums_if_there(model);
  const LoadedModel loaded = load_model(*opened, host, {.trainable = true});
  formats::ModelFolderContent content = folder_content(*opened, *loaded.model, host, true);
  if (opened->is_model_folder()) {
    content.metadata = metadata_of(model);
    content.reference = [&](const path&) { return reference_of(model); };
  }
  loaded.model->parameters().require_finite(
      (opened->is_model_folder() ? model / ModelFiles::kWeights : model).string());
  content.card = rounded_card(*opened, type);
  content.rounded = dtype;
  content.compute = type;
  formats::write_model_folder(output, content);
}

}  // namespace dragoman::plugins
