#include "peft/example.h"

#include "huggingface/example.h"
#include "peft/peft_files.h"

#include <cmath>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {

std::filesystem::path write_peft_example(const std::filesystem::path& folder) {
  constexpr std::int64_t kWidth = 8, kRank = 2;  // of the BART model
  std::filesystem::create_directory(folder / "base");
  write_huggingface_example(folder / "base");
  const std::string modules[] = {"model.encoder.layers.0.self_attn.q_proj",
                                 "model.decoder.layers.0.encoder_attn.v_proj"};
  std::vector<formats::TensorSpec> specs;
  for (const std::string& module : modules) {
    specs.push_back({.name = tensor_name(module, kLoraA), .shape = {kRank, kWidth}});
    specs.push_back({.name = tensor_name(module, kLoraB), .shape = {kWidth, kRank}});
  }
  formats::SafetensorsWriter writer(folder / kAdapterWeights, specs, {{"format", "pt"}});
  std::vector<float> values(kRank * kWidth);
  for (std::size_t matrix = 0; matrix < specs.size(); ++matrix) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(std::sin(1.3 * static_cast<double>(matrix * values.size() + i + 1)) * 0.5);
    writer.write({values.data(), 1, kRank * kWidth, kRank * kWidth, tensor::DType::kF32, tensor::Device::kCpu});
  }
  writer.finish();
  const core::Json config = {{"peft_type", "LORA"},
                             {"base_model_name_or_path", "base"},
                             {"r", kRank},
                             {"lora_alpha", 4},
                             {"target_modules", {"q_proj", "v_proj"}}};
  core::write_file(folder / kAdapterConfig, config.dump(2) + "\n");
  return folder;
}

}  // namespace dragoman::imports
