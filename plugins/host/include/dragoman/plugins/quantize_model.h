#pragma once

#include <filesystem>
#include <stop_token>

#include <dragoman/plugins/host.h>

namespace dragoman::plugins {

/// Writes a model (a model folder, or a model that a registered importer recognises) to the model folder `output`.
/// Weights and tables are rounded to `type`, kBF16 or kI8 (docs/concepts/numerics.md). Translation then also multiplies
/// in that type by default. All other values stay in fp32. The folder replaces `output` as in write_model_folder().
/// Error{kBadInput} for a model that is already in int8 or contains a non-finite value. Error{kInvalidArgument} for
/// another type, or if `output` is `model`. Error{kInterrupted} after a stop request; then `output` is as it was.
///
///     quantize_model("models/de-en", "models/de-en-int8", tensor::ComputeChoice::kI8, default_host());     // host.h
void quantize_model(const std::filesystem::path& model, const std::filesystem::path& output, tensor::ComputeChoice type,
                    Host& host, const std::stop_token& stop = {});

}  // namespace dragoman::plugins
