#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::fuzz {

/// Reads the bytes as a safetensors file and, if that works, reads every tensor. True if it was one; anything but an
/// Error, or a tensor outside the file, is a fault.
inline bool exercise_safetensors(std::span<const std::byte> bytes) {
  using namespace formats;
  try {
    const SafetensorsFile file = SafetensorsFile::view(bytes, "fuzz");
    std::uint64_t total = 0;
    for (const StoredTensor& stored : file.tensors()) {
      if (file.find(stored.name) != &stored || file.read(stored.name).size() != stored.bytes) std::abort();
      total += stored.bytes;
      if (!stored.dtype) continue;
      std::vector<std::byte> values(stored.bytes);
      file.read(stored, {values.data(), 1, stored.size, stored.size, *stored.dtype, tensor::Device::kCpu});
    }
    if (total > bytes.size()) std::abort();
    return true;
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace dragoman::fuzz
