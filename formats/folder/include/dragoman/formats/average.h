#pragma once

#include <filesystem>
#include <vector>

namespace dragoman::formats {

/// Writes the mean of the weights of several safetensors files (Popel & Bojar 2018, section 4.10: averaging the last
/// checkpoints). Sums are in double precision in the given order; types and order of the tensors are as in the first
/// file.
///
/// Throws Error{kBadInput} that names the file and the tensor if names or shapes differ, and Error{kUnsupported} for
/// weights that are not floats: average before quantising.
///
///     average_parameters({"update-9000.safetensors", "update-10000.safetensors"}, "mean.safetensors");
void average_parameters(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output);

/// Writes a model folder with the mean of the weights of several model folders. Their config.json and tokenizers must
/// be equal. These and the card come from the first folder, and the card states that the weights are a mean. The output
/// is replaced as by write_model_folder().
void average_models(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& output);

}  // namespace dragoman::formats
