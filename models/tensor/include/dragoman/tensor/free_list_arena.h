#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dragoman/tensor/arena.h>

namespace dragoman::tensor {

/// A step memory whose allocations can be released one by one, in any order. It allocates from the best fit in a list
/// of free ranges, and merges adjacent free ranges. Equal steps get equal addresses. Free memory is poisoned under
/// AddressSanitizer. Belongs to one thread.
///
///     FreeListArena arena(host_memory());
///     void* const gradient = arena.allocate(1024);
///     arena.release(gradient, 1024);
///
/// The memory must outlive the arena. Errors are as for DeviceMemory::allocate().
class FreeListArena {
 public:
  explicit FreeListArena(DeviceMemory& memory) : memory_(&memory) {}
  FreeListArena(const FreeListArena&) = delete;
  FreeListArena& operator=(const FreeListArena&) = delete;
  ~FreeListArena();

  /// Returns uninitialised memory with 64-byte alignment. It is valid until release() or reset().
  void* allocate(std::size_t bytes);
  /// Releases memory that allocate() returned for the same number of bytes, or a part of a lent block.
  void release(void* data, std::size_t bytes);
  /// Adds a block that belongs to the caller and is in use. Once parts of it are released, allocate() may return them.
  /// The block is 64-byte aligned, its parts in whole units of 64 bytes. It must be valid as long as it is used.
  void lend(void* data, std::size_t bytes);
  /// Releases everything, returns lent blocks, and joins the others into one.
  void reset();
  /// Like reset(), but returns all blocks to the memory or to their owners.
  void free_blocks() noexcept;

  /// A number that changes whenever blocks are added or joined, and addresses with them.
  std::uint64_t generation() const noexcept { return generation_; }
  /// The size of all blocks that are not lent in bytes, whether in use or not.
  std::size_t bytes_reserved() const noexcept;

 private:
  /// A block that is lent or in a buffer of this arena.
  struct Block {
    char* data;
    std::size_t size;
  };
  /// A free range of one block.
  struct Range {
    std::size_t block;
    std::size_t begin;
    std::size_t end;
  };
  std::size_t best_fit(std::size_t bytes) const;
  void add_block(std::size_t bytes);

  DeviceMemory* memory_;
  std::vector<Buffer> owned_;
  std::vector<Block> blocks_;  ///< the owned and the lent ones
  std::vector<Range> free_;    ///< sorted by block and position
  std::uint64_t generation_ = 0;
};

}  // namespace dragoman::tensor
