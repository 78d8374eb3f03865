#pragma once

#include <algorithm>
#include <filesystem>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/plugins/host.h>
#include <dragoman/plugins/import_model.h>

namespace dragoman::testing {

/// Imports a model, changes keys of its model configuration, and gives it random weights of the new shape.
inline void write_reshaped_model(const std::filesystem::path& from, const std::filesystem::path& folder,
                                 const core::Json& keys, plugins::Host& host) {
  plugins::import_model(from, folder, host);
  core::Json json = core::load_json((folder / "config.json").string());
  json["model"].update(keys);
  core::write_file(folder / "config.json", json.dump());
  const formats::ModelConfig config = formats::load_model_config(folder);
  const auto model = host.registry().models().get(config.model_type).make(config.sequences, config.model);
  nn::ParameterStore& store = model->parameters();
  store.allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
  store.initialise(1);
  // Decoders of Marian start from zeros.
  tensor::Tensor& table = store.find("embedding.weight")->value;
  std::fill_n(table.row<float>(config.sequences.decoder_start), table.cols, 0.0F);
  if (nn::Parameter* bias = store.find("output.bias")) bias->value.as<float>()[config.sequences.decoder_start] = -10000;
  formats::save_parameters(folder / "model.safetensors", store);
  for (const char* stale : {"SHA256SUMS", "reference.json"}) std::filesystem::remove(folder / stale);
}

}  // namespace dragoman::testing
