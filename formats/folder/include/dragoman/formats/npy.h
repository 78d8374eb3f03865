#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace dragoman::formats {

/// Writes an array of 32-bit floats in row order in NumPy's format 1.0
/// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), which `numpy.load` reads. The file gets
/// its name when it is complete. Throws Error{kInvalidArgument} if the number of `values` does not match the shape.
///
///     write_npy("vectors.npy", std::vector<std::int64_t>{2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape, std::span<const float> values);

}  // namespace dragoman::formats
