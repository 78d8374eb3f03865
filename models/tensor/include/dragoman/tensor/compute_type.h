#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace dragoman::tensor {

/// What a user asks for under the name `compute`. A backend says which type that is on this machine:
/// Backend::inference_type(), Backend::training_type().
enum class ComputeChoice : std::uint8_t { kF32, kBF16, kF16, kI8, kAuto };

/// How the choices are spelled, in all files and options.
inline constexpr std::array<std::pair<std::string_view, ComputeChoice>, 5> kComputeChoices = {
    {{"fp32", ComputeChoice::kF32},
     {"bf16", ComputeChoice::kBF16},
     {"fp16", ComputeChoice::kF16},
     {"int8", ComputeChoice::kI8},
     {"auto", ComputeChoice::kAuto}}};
/// What options of those who translate say for no choice: that of the model's folder.
inline constexpr std::string_view kStoredCompute = "stored";

/// For the help of options that take all of them.
inline constexpr std::string_view kComputeHelp =
    "what weights are multiplied in: fp32, bf16, fp16 (on a GPU), int8, or auto: int8 where that is the fastest, "
    "which changes some translations a little, else fp32";

std::string_view name_of(ComputeChoice choice);
/// Nothing for another name.
std::optional<ComputeChoice> find_compute_choice(std::string_view name);
/// "fp32, bf16, fp16, int8 or auto", for messages.
std::string list_compute_choices();

/// What weights are multiplied in. docs/concepts/numerics.md defines each to the bit, or to a bound where the order
/// of summation is free. What lies between products is in the context's float type.
enum class ComputeType : std::uint8_t {
  kF32,
  kBF16,      ///< both sides rounded to bf16; sums in fp32
  kF16,       ///< both sides rounded to fp16; sums in fp32
  kI8,        ///< both sides rounded to 8 bits, with a scale per row; exact sums
  kI8Narrow,  ///< activations have 7 bits: where the sum of two products of bytes is cut to 16 bits
};

constexpr bool is_int8(ComputeType type) {
  return type == ComputeType::kI8 || type == ComputeType::kI8Narrow;
}

/// The choice that is this type wherever it can be had.
ComputeChoice choice_of(ComputeType type);
/// That of the choice; "int8 (7-bit activations)" for kI8Narrow.
std::string_view name_of(ComputeType type);

}  // namespace dragoman::tensor
