#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dragoman/tensor/arena.h>

namespace dragoman::tensor {

/// Step memory whose parts are given back one by one, in any order: for the gradients of activations, most of which
/// live for an op or two. The best fit is taken, and neighbours that are free become one. Equal steps get equal
/// addresses. Poisoned where it is free under AddressSanitizer. Belongs to one thread.
class RecycledMemory {
 public:
  explicit RecycledMemory(DeviceMemory& memory) : memory_(&memory) {}
  RecycledMemory(const RecycledMemory&) = delete;
  RecycledMemory& operator=(const RecycledMemory&) = delete;
  ~RecycledMemory();

  /// 64-byte aligned, uninitialised; valid until release() or reset().
  void* allocate(std::size_t bytes);
  /// Gives back what allocate() returned for so many bytes.
  void release(void* data, std::size_t bytes);
  /// Gives back everything, and joins what the last step needed into one block.
  void reset();

  /// Changes when addresses do: when blocks are added or joined.
  std::uint64_t generation() const noexcept { return generation_; }
  std::size_t bytes_reserved() const noexcept;

 private:
  /// Free bytes of one block.
  struct Range {
    std::size_t block;
    std::size_t begin;
    std::size_t end;
  };
  std::size_t best_fit(std::size_t bytes) const;
  void add_block(std::size_t bytes);
  void unpoison_all() noexcept;
  char* base(std::size_t block) const { return static_cast<char*>(blocks_[block].data()); }

  DeviceMemory* memory_;
  std::vector<Buffer> blocks_;
  std::vector<Range> free_;  ///< by block and place
  std::uint64_t generation_ = 0;
};

}  // namespace dragoman::tensor
