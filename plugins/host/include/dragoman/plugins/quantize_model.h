#pragma once

#include <filesystem>

#include <dragoman/plugins/host.h>

namespace dragoman::plugins {

/// Writes a model (a model folder, or a model that a registered importer recognises) to the model folder `output` with
/// weights and tables rounded to bf16 or int8 (kBF16 or kI8; docs/concepts/numerics.md). Translation then also
/// multiplies in that type by default. Everything else is as in `model`, in fp32. The folder replaces `output` as
/// with write_model_folder(). Error{kBadInput} for a model that is in int8 already or contains a non-finite value;
/// Error{kInvalidArgument} for another type, or if `output` is `model`.
void quantize_model(const std::filesystem::path& model, const std::filesystem::path& output, tensor::ComputeChoice type,
                    Host& host);

}  // namespace dragoman::plugins
