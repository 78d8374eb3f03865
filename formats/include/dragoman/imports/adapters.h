#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::imports {

/// What is added to a weight W of a model: alpha / rank * B A (Hu et al. 2022, LoRA). A weight that stands for several
/// projections has an A and a B for each, below one another.
struct WeightAdapter {
  std::string parameter;  ///< the weight's name
  int projections = 1;
  tensor::Tensor a;  ///< [projections * rank, inputs], F32 on the host, contiguous
  tensor::Tensor b;  ///< [outputs, rank], likewise
};

/// Adapters of a model, which need not be loaded.
struct AdapterSet {
  std::string model_type;
  core::Json model = core::Json::object();  ///< the type's configuration
  std::filesystem::path base;               ///< the model that they are for; may be relative to their folder
  std::int64_t rank = 1;
  double alpha = 1;
  std::vector<WeightAdapter> weights;
};

/// Error{kInvalidArgument} unless write_adapters() may take the place of `path`: it must not exist, or be a folder that
/// holds nothing but what that writes. Nothing foreign is ever deleted.
void require_room_for_adapters(const std::filesystem::path& path);

/// Writes a folder as PEFT does, adapter_config.json and adapter_model.safetensors; it takes the place of `path` as
/// core::StagedFolder does. Modules are called as transformers calls them where it has the model (Marian, BART, T5 and
/// their relatives), so that PEFT loads them; else as the parameters are called here. Error{kIo}.
void write_adapters(const std::filesystem::path& path, const AdapterSet& adapters);

}  // namespace dragoman::imports
