#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dragoman::imports {

/// The header of a NumPy array (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
struct NpyHeader {
  std::string type;  ///< "<f4", "|u1", ...
  bool column_major = false;
  std::vector<std::int64_t> shape;
  std::size_t size = 0;  ///< of the header; the values follow
};

/// Reads a header of version 1 to 3 from the first bytes of a file. `name` is for messages. Throws Error{kBadInput}.
NpyHeader read_npy_header(std::span<const std::byte> beginning, const std::string& name);

}  // namespace dragoman::imports
