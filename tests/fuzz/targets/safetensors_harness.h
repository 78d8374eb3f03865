#pragma once

#include "stored_zip.h"
#include "target.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <dragoman/core/json.h>
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

inline std::string safetensors(const core::Json& header, std::string_view data) {
  const std::string text = header.dump();
  return little_endian(text.size(), 8) + text + std::string(data);
}

inline std::string many_tensors(std::string_view /*seed*/, std::size_t size) {
  core::Json header = core::Json::object();
  const std::size_t count = size / 70;
  for (std::size_t i = 0; i < count; ++i)
    header[fmt::format("layer.{}", i)] = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {4 * i, 4 * i + 4}}};
  return safetensors(header, std::string(4 * count, '\0'));
}

inline std::string tensors_of_shared_bytes(std::string_view /*seed*/, std::size_t size) {
  core::Json header = core::Json::object();
  const std::size_t data = size / 2;
  for (std::size_t i = 0; i < size / 140; ++i)
    header[fmt::format("layer.{}", i)] = {{"dtype", "U8"}, {"shape", {data}}, {"data_offsets", {0, data}}};
  return safetensors(header, std::string(data, '\0'));
}

inline Target safetensors_target() {
  return {
      .name = "safetensors",
      .exercise = [](std::string_view bytes) { return exercise_safetensors(std::as_bytes(std::span(bytes))); },
      .growths = {{"many tensors", "sample.safetensors", many_tensors},
                  {"tensors of shared bytes", "sample.safetensors", tensors_of_shared_bytes, "overlaps another"}},
  };
}

}  // namespace dragoman::fuzz
