#pragma once

#include <cstddef>
#include <string_view>

namespace dragoman::imports {

/// A numeric type in a torch file.
struct TorchStorage {
  std::string_view name;  ///< "FloatStorage"
  std::size_t width;      ///< bytes per element
  float (*read)(const std::byte* place) noexcept;
};

/// Returns nullptr if there is no type of that name.
const TorchStorage* find_torch_storage(std::string_view name) noexcept;

}  // namespace dragoman::imports
