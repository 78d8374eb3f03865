#pragma once

#include "stored_zip.h"
#include "target.h"
#include "torch/torch_file.h"
#include "torch_growth.h"

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <vector>

namespace dragoman::fuzz {

/// Reads the bytes as a file of torch and, if that works, every tensor at its top. True if it was one.
inline bool exercise_torch_file(std::string_view bytes) {
  using namespace imports;
  return accepts([&] {
    const TorchFile file = TorchFile::view(std::as_bytes(std::span(bytes)), "fuzz");
    const auto* state = file.root().as<PickledDict>();
    if (state == nullptr) return;
    // Any number of tensors may be views of one storage.
    std::int64_t left = static_cast<std::int64_t>(bytes.size());
    for (const auto& [key, value] : state->items) {
      const auto* tensor = value->as<std::shared_ptr<const PickledTensor>>();
      if (tensor == nullptr) continue;
      file.check(**tensor, "tensor");
      std::int64_t count = 1;
      for (const std::int64_t size : (*tensor)->shape) count *= size;
      promise(count >= 0 && count <= static_cast<std::int64_t>(bytes.size()), "a tensor lies in the file");
      if ((left -= count) < 0) return;
      std::vector<float> values(static_cast<std::size_t>(count));
      file.read(**tensor, 0, {values.data(), 1, count, count, tensor::DType::kF32, tensor::Device::kCpu}, "tensor");
    }
  });
}

/// Values that are remembered under numbers that share a bucket of a hash table whose hash is the number.
inline std::string colliding_numbers(std::string_view /*seed*/, std::size_t size) {
  std::unordered_set<std::size_t> table;
  // The numbers have 32 bits.
  for (std::size_t i = 0; i < size / 8 && i * table.bucket_count() < std::uint64_t{1} << 32; ++i) table.insert(i);
  const std::size_t buckets = table.bucket_count();
  return remembered_values(std::min(table.size(), (std::uint64_t{1} << 32) / buckets), buckets);
}

inline Target torch_file_target() {
  return {
      .name = "torch_file",
      .exercise = exercise_torch_file,
      .budget = {.bytes_per_byte = 256},
      .growths = {{"tensors of one storage", "state.pt", tensors_of_one_storage},
                  {"references to one text", "state.pt", references_to_one_text},
                  {"pairs of pairs", "state.pt", pairs_of_pairs},
                  {"colliding numbers", "state.pt", colliding_numbers},
                  {"nested lists", "state.pt", nested_lists},
                  {"many keys", "state.pt", many_keys},
                  {"many storages", "state.pt", many_storages},
                  {"files of shared bytes", "state.pt", files_of_shared_bytes, "share bytes"}},
  };
}

}  // namespace dragoman::fuzz
