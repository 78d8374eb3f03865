#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <dragoman/formats/safetensors.h>

namespace dragoman::formats {

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  ///< in the order of their data; names are unique
  Metadata metadata;
};

/// The longest header that the reference implementation accepts.
inline constexpr std::uint64_t kLongestHeader = 100'000'000;

/// Reads and validates the header at the beginning of `file`. Throws Error{kBadInput} with name, byte offset and
/// reason.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, const std::string& name);

}  // namespace dragoman::formats
