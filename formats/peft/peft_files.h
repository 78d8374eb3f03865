#pragma once

#include <string>
#include <string_view>

namespace dragoman::imports {

// PEFT's names for the files of a folder of adapters and for their tensors.

inline constexpr const char* kAdapterConfig = "adapter_config.json";
inline constexpr const char* kAdapterWeights = "adapter_model.safetensors";
inline constexpr const char* kAdapterWeightsOfTorch = "adapter_model.bin";

inline constexpr std::string_view kModulePrefix = "base_model.model.";
inline constexpr std::string_view kLoraA = ".lora_A.weight";
inline constexpr std::string_view kLoraB = ".lora_B.weight";

inline std::string tensor_name(std::string_view module, std::string_view matrix) {
  return std::string(kModulePrefix) + std::string(module) + std::string(matrix);
}

}  // namespace dragoman::imports
