#pragma once

#include "target.h"

#include <cstddef>
#include <span>
#include <vector>

#include <dragoman/formats/safetensors.h>

namespace dragoman::fuzz {

/// Reads the bytes as a safetensors file and, if that works, reads every tensor. True if it was one.
inline bool exercise_safetensors(std::span<const std::byte> bytes) {
  using namespace formats;
  return accepts([&] {
    const SafetensorsFile file = SafetensorsFile::view(bytes, "fuzz");
    std::uint64_t total = 0;
    for (const StoredTensor& stored : file.tensors()) {
      promise(file.find(stored.name) == &stored, "a tensor is found under its name");
      promise(file.read(stored.name).size() == stored.bytes, "a tensor has the bytes that its header says");
      total += stored.bytes;
      if (!stored.dtype) continue;
      std::vector<std::byte> values(stored.bytes);
      file.read(stored, {values.data(), 1, stored.size, stored.size, *stored.dtype, tensor::Device::kCpu});
    }
    promise(total <= bytes.size(), "the tensors lie in the file");
  });
}

inline Target safetensors_target() {
  return {.name = "safetensors",
          .exercise = [](std::string_view bytes) { return exercise_safetensors(std::as_bytes(std::span(bytes))); }};
}

}  // namespace dragoman::fuzz
