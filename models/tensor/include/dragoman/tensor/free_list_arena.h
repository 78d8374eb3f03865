#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dragoman/tensor/arena.h>

namespace dragoman::tensor {

/// Step memory whose parts are released one by one, in any order. Allocation takes the best fit from a list of free
/// ranges, and neighbours that are free become one. Equal steps get equal addresses. Free memory is poisoned under
/// AddressSanitizer. Belongs to one thread.
class FreeListArena {
 public:
  explicit FreeListArena(DeviceMemory& memory) : memory_(&memory) {}
  FreeListArena(const FreeListArena&) = delete;
  FreeListArena& operator=(const FreeListArena&) = delete;
  ~FreeListArena();

  /// 64-byte aligned, uninitialised; valid until release() or reset().
  void* allocate(std::size_t bytes);
  /// Releases memory that allocate() returned for the same number of bytes.
  void release(void* data, std::size_t bytes);
  /// Releases everything, and joins the blocks of the last step into one.
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
