#pragma once

#include <filesystem>
#include <vector>

namespace dragoman::formats {

/// Writes the mean of the weights of several safetensors files, summed in double precision in the order given, in the
/// types and the order of the first (Popel & Bojar 2018, section 4.10: averaging the last checkpoints). Names and
/// shapes must agree: Error{kBadInput} names the file and the tensor that do not. Error{kUnsupported} for weights that
/// are not floats: average before quantising.
void average_parameters(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output);

/// The same for model folders. config.json and the tokenizers must be equal; they and the card come from the first, and
/// the card says that the weights are a mean. The output is replaced as by write_model_folder().
void average_models(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& output);

}  // namespace dragoman::formats
