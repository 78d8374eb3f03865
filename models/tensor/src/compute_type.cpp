#include "dragoman/tensor/compute_type.h"

#include <array>

namespace dragoman::tensor {

std::string_view name_of(ComputeType type) {
  switch (type) {
    case ComputeType::kF32:
      return "fp32";
    case ComputeType::kBF16:
      return "bf16";
    case ComputeType::kI8:
      return "int8";
    case ComputeType::kI8Narrow:
      return "int8 (7-bit activations)";
  }
  return "?";
}

std::string_view name_of(Compute compute) {
  switch (compute) {
    case Compute::kF32:
      return "fp32";
    case Compute::kBF16:
      return "bf16";
    case Compute::kI8:
      return "int8";
    case Compute::kAuto:
      return "auto";
  }
  return "?";
}

std::optional<Compute> find_compute(std::string_view name) {
  for (const Compute compute : std::array{Compute::kF32, Compute::kBF16, Compute::kI8, Compute::kAuto})
    if (name_of(compute) == name) return compute;
  return std::nullopt;
}

}  // namespace dragoman::tensor
