#pragma once

#include <cstddef>
#include <string_view>

namespace dragoman::imports {

/// A type of numbers in a file of torch.
struct TorchStorage {
  std::string_view name;  ///< "FloatStorage"
  std::size_t width;      ///< bytes of a number
  float (*read)(const std::byte* place) noexcept;
};

/// Null: there is none of that name.
const TorchStorage* find_torch_storage(std::string_view name) noexcept;

}  // namespace dragoman::imports
