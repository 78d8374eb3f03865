#pragma once

#include <filesystem>

#include <dragoman/plugins/host.h>

namespace dragoman::plugins {

/// Writes the model of `folder` to `output` with weights and tables rounded to bf16 or int8 (kBF16 or kI8;
/// docs/numerics.md), which is then also what translation multiplies them in unless it is told otherwise. Everything
/// else is as in `folder`, in fp32. Takes the place of `output` as write_model_folder() does. Error{kBadInput} for a
/// model that is of int8 already or holds a value that is not a finite number; Error{kInvalidArgument} for another
/// type, or if `output` is `folder`.
void quantize_model(const std::filesystem::path& folder, const std::filesystem::path& output,
                    tensor::ComputeChoice type, Host& host);

}  // namespace dragoman::plugins
