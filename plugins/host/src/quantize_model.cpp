#include "dragoman/plugins/quantize_model.h"

#include "dragoman/plugins/load_model.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/input_guard.h>
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

std::string rounded_card(const path& folder, tensor::ComputeChoice type) {
  const std::string card = formats::card_of(folder);
  return fmt::format(
      "{}{}## Rounded weights\n\nMatrices were rounded to {} from the model {}; what stands above was said "
      "of that.\n",
      card, card.empty() ? "" : "\n", name_of(type),
      std::filesystem::absolute(folder).lexically_normal().filename().string());
}

/// What the model was before it was rounded, if anybody has kept that.
std::string reference_of(const path& folder) {
  const path file = folder / ModelFiles::kReference;
  return std::filesystem::exists(file) ? core::read_regular_file(file, formats::ModelReference::kLargest)
                                       : std::string();
}

}  // namespace

void quantize_model(const path& folder, const path& output, tensor::ComputeChoice type, Host& host) {
  const tensor::DType dtype = stored_type(type);
  core::require_not_an_input(output, {folder});
  core::require_not_in_the_way(folder, output);
  formats::verify_checksums_if_there(folder);
  const LoadedModel loaded = load_model(folder, host, {.trainable = true});
  const path weights = folder / ModelFiles::kWeights;
  const auto file = formats::SafetensorsFile::open(weights);
  for (const formats::StoredTensor& stored : file.tensors())
    core::require(stored.dtype != tensor::DType::kI8, ErrorCode::kBadInput,
                  "{}: the model is one of int8 already; round the one that it was made of", folder.string());
  loaded.model->parameters().require_finite(weights.string());
  const formats::FolderTokenizers tokenizers = formats::read_tokenizers(folder, loaded.config);
  formats::write_model_folder(output, {.model_type = loaded.config.model_type,
                                       .plugin = loaded.config.plugin,
                                       .model = loaded.model.get(),
                                       .tokenizer = tokenizers.joint,
                                       .source_tokenizer = tokenizers.source,
                                       .target_tokenizer = tokenizers.target,
                                       .card = rounded_card(folder, type),
                                       .rounded = dtype,
                                       .compute = type,
                                       .decoding = loaded.config.decoding,
                                       .shortlist = formats::shortlist_of(folder, loaded.config),
                                       .languages = loaded.config.languages,
                                       .metadata = file.metadata(),
                                       .reference = [&](const path&) { return reference_of(folder); },
                                       .opener = tokenizer_opener(host)});
}

}  // namespace dragoman::plugins
