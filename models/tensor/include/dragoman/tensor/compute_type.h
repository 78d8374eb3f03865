#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace dragoman::tensor {

/// The values of the option `compute`. Backend::inference_type() and Backend::training_type() map a choice to a type on
/// this machine.
enum class ComputeChoice : std::uint8_t { kF32, kBF16, kF16, kI8, kAuto };

/// The names of the choices in all files and options.
inline constexpr std::array<std::pair<std::string_view, ComputeChoice>, 5> kComputeChoices = {
    {{"fp32", ComputeChoice::kF32},
     {"bf16", ComputeChoice::kBF16},
     {"fp16", ComputeChoice::kF16},
     {"int8", ComputeChoice::kI8},
     {"auto", ComputeChoice::kAuto}}};
/// The value of options of a model that selects the compute type of its folder, or fp32.
inline constexpr std::string_view kStoredCompute = "stored";

/// The help text of options that accept every choice.
inline constexpr std::string_view kComputeHelp =
    "number type of matrix products: fp32, bf16, fp16 (on a GPU), int8, or auto: int8 where it is the fastest, which "
    "changes some translations a little, otherwise fp32";
/// The help text of options that also accept kStoredCompute.
inline constexpr std::string_view kModelComputeHelp =
    "number type of matrix products: fp32, bf16, fp16 (on a GPU), int8, stored: the type that the model folder "
    "specifies, or fp32 if it specifies none; or auto: as stored, but int8 instead of fp32 where it is the fastest, "
    "which changes some translations a little";

/// Returns the name of the choice in kComputeChoices.
std::string_view name_of(ComputeChoice choice);
/// Returns the choice of a name in kComputeChoices, or std::nullopt for an unknown name.
///
///     const ComputeChoice choice = find_compute_choice("int8").value();
std::optional<ComputeChoice> find_compute_choice(std::string_view name);
/// Returns "fp32, bf16, fp16, int8 or auto", for messages.
std::string list_compute_choices();

/// The type that weights are multiplied in. docs/concepts/numerics.md defines each type to the bit, or to a bound where
/// the order of summation is free. Values between products have the context's float type.
enum class ComputeType : std::uint8_t {
  kF32,
  kBF16,      ///< both operands rounded to bf16; sums in fp32
  kF16,       ///< both operands rounded to fp16; sums in fp32
  kI8,        ///< both operands rounded to 8 bits, with one scale per row; exact sums
  kI8Narrow,  ///< 7-bit activations, for machines that saturate the sum of two byte products to 16 bits
};

/// Returns true for kI8 and kI8Narrow.
constexpr bool is_int8(ComputeType type) {
  return type == ComputeType::kI8 || type == ComputeType::kI8Narrow;
}

/// Returns the choice that selects this type on machines that have it.
ComputeChoice choice_of(ComputeType type);
/// Returns the name of the choice; "int8 (7-bit activations)" for kI8Narrow.
std::string_view name_of(ComputeType type);

}  // namespace dragoman::tensor
