#pragma once

#include <filesystem>
#include <string>

#include <dragoman/formats/safetensors.h>

namespace dragoman::formats {

/// Requires that all float tensors of a file are finite. Reads every byte of them. Skips tensors of types that are no
/// DType, since no model can be loaded from them. Throws Error{kBadInput} that names `where`, the tensor and the place
/// of the first value that is NaN or infinite.
void require_finite_weights(const SafetensorsFile& file, const std::string& where);

/// Opens the file and names it. Throws like SafetensorsFile::open(), too.
void require_finite_weights(const std::filesystem::path& file);

}  // namespace dragoman::formats
