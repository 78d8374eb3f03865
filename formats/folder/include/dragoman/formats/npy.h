#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace dragoman::formats {

/// Writes an array of 32-bit floats in row order in NumPy's format 1.0
/// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), which `numpy.load` reads. The file gets
/// its name when it is complete. Throws Error{kInvalidArgument} if the number of `values` does not match the shape.
void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape, std::span<const float> values);

}  // namespace dragoman::formats
