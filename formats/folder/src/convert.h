#pragma once

#include <cstddef>
#include <cstdint>

#include <dragoman/tensor/dtype.h>

namespace dragoman::formats {

/// Writes `count` elements of type `from` as elements of type `to`, rounded once to nearest even. Neither side need be
/// aligned. Equal types are copied bit by bit; otherwise both must be floats, or Error{kUnsupported} is thrown.
void convert(tensor::DType from, const std::byte* source, tensor::DType to, std::byte* destination, std::int64_t count);

bool is_float(tensor::DType dtype) noexcept;

}  // namespace dragoman::formats
