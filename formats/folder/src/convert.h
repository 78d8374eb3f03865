#pragma once

#include <cstddef>
#include <cstdint>

#include <dragoman/tensor/dtype.h>

namespace dragoman::formats {

/// Converts `count` elements from type `from` to type `to`, rounded once to nearest even. Neither side needs to be
/// aligned. Equal types are copied bit by bit. Otherwise both must be floats, or Error{kUnsupported} is thrown.
void convert(tensor::DType from, const std::byte* source, tensor::DType to, std::byte* destination, std::int64_t count);

bool is_float(tensor::DType dtype) noexcept;

}  // namespace dragoman::formats
