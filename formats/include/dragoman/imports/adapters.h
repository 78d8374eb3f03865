#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::imports {

/// A low-rank addition to a weight W of a model: alpha / rank * B A (Hu et al. 2022, LoRA). A weight that consists of
/// several projections has an A and a B for each, one below the other.
struct WeightAdapter {
  std::string parameter;  ///< the weight's name
  int projections = 1;
  tensor::Tensor a;  ///< [projections * rank, inputs], F32 on the host, contiguous
  tensor::Tensor b;  ///< like `a`
};

/// The adapters of a model, which need not be loaded.
struct AdapterSet {
  std::string model_type;
  core::Json model = core::Json::object();  ///< the type's configuration
  std::filesystem::path base;               ///< the model to which they belong; may be relative to their folder
  std::int64_t rank = 1;
  double alpha = 1;
  std::vector<WeightAdapter> weights;
};

/// Throws Error{kInvalidArgument} unless write_adapters() may replace `path`. It must not exist, or be a folder that
/// contains only files that write_adapters() writes. Files of other programs are never deleted.
void require_room_for_adapters(const std::filesystem::path& path);

/// Writes a folder in the format of PEFT, adapter_config.json and adapter_model.safetensors. It replaces `path` as in
/// core::StagedFolder. Modules have the names of transformers if that has the model (Marian, BART, T5 and their
/// relatives), so that PEFT loads them. Otherwise they have the names of Dragoman's parameters. Throws Error{kIo}.
void write_adapters(const std::filesystem::path& path, const AdapterSet& adapters);

}  // namespace dragoman::imports
