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

std::string_view name_of(ComputeType type) {
  switch (type) {
    case ComputeType::kF32:
      return name_of(ComputeChoice::kF32);
    case ComputeType::kBF16:
      return name_of(ComputeChoice::kBF16);
    case ComputeType::kI8:
      return name_of(ComputeChoice::kI8);
    case ComputeType::kI8Narrow:
      return "int8 (7-bit activations)";
  }
  return "?";
}

}  // namespace dragoman::tensor
