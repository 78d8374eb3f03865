#include "dragoman/tensor/compute_type.h"

namespace dragoman::tensor {

std::string_view name_of(ComputeChoice choice) {
  for (const auto& [name, known] : kComputeChoices)
    if (known == choice) return name;
  return "?";
}

std::optional<ComputeChoice> find_compute_choice(std::string_view name) {
  for (const auto& [known, choice] : kComputeChoices)
    if (known == name) return choice;
  return std::nullopt;
}

std::string list_compute_choices() {
  std::string list;
  for (const auto& [name, choice] : kComputeChoices) {
    if (!list.empty()) list += name == kComputeChoices.back().first ? " or " : ", ";
    list += name;
  }
  return list;
}

ComputeChoice choice_of(ComputeType type) {
  switch (type) {
    case ComputeType::kF32:
      return ComputeChoice::kF32;
    case ComputeType::kBF16:
      return ComputeChoice::kBF16;
    case ComputeType::kF16:
      return ComputeChoice::kF16;
    case ComputeType::kI8:
    case ComputeType::kI8Narrow:
      return ComputeChoice::kI8;
  }
  return ComputeChoice::kAuto;
}

std::string_view name_of(ComputeType type) {
  return type == ComputeType::kI8Narrow ? "int8 (7-bit activations)" : name_of(choice_of(type));
}

}  // namespace dragoman::tensor
