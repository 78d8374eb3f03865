#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dragoman/tensor/tensor.h>

namespace dragoman::tensor {

/// An asynchronous copy from a device to the host. It copies the contents that the memory has after all work queued
/// before it. Work queued later may overwrite the memory; the read does not wait for that work. Belongs to the thread
/// that began it.
class PendingRead {
 public:
  virtual ~PendingRead();
  /// Waits for the copy and returns the bytes. The span is valid as long as this object lives.
  virtual std::span<const std::byte> wait() = 0;
};

/// The memory of one device. Thread-safe. Host memory is 64-byte aligned; blocks of 2 MiB and more are advised to be
/// huge pages before their first touch (THP is commonly in `madvise` mode).
///
/// The host may access device memory only if host_readable() is true. Otherwise data crosses through the functions
/// below or a HostView, and kernels do the rest. These functions are synchronous unless their contract states
/// otherwise. Where host and device share memory they are plain copies.
class DeviceMemory {
 public:
  virtual ~DeviceMemory();
  /// Allocates uninitialised memory with 64-byte alignment. Throws std::bad_alloc if the host has none left. A device
  /// backend throws Error{kUnsupported}, with a remedy, if the device has none left.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Releases memory that allocate() returned for the same number of bytes.
  virtual void deallocate(void* data, std::size_t bytes) noexcept = 0;
  /// Replaces memory that allocate() returned for `bytes` by memory of `larger` bytes that begins with the same
  /// contents. Throws like allocate(), and then the old memory stays. Host memory moves large blocks without a copy.
  virtual void* enlarge(void* data, std::size_t bytes, std::size_t larger);

  /// Returns true if the host may read and write this memory directly.
  virtual bool host_readable() const noexcept { return true; }
  /// Returns true if kernels may read any host memory. Then uploads copy nothing, and weights can stay in a mapped
  /// file. This is stronger than host_readable(): the host can read managed memory, but kernels cannot read a
  /// std::vector.
  virtual bool reads_host_memory() const noexcept;
  /// Copies from the host to the device.
  virtual void copy_in(void* to, const void* from, std::size_t bytes);
  /// Copies from the host to the device, ordered before kernels that the calling thread launches later. The copy may be
  /// incomplete on return, but `from` may be changed immediately.
  virtual void upload(void* to, const void* from, std::size_t bytes) { copy_in(to, from, bytes); }
  /// Copies from the device to the host.
  virtual void copy_out(void* to, const void* from, std::size_t bytes);
  /// Starts copy_out() without waiting for it.
  virtual std::unique_ptr<PendingRead> begin_read(const void* from, std::size_t bytes);
  /// Copies within the device.
  virtual void copy(void* to, const void* from, std::size_t bytes);
  /// Sets all bytes to 0.
  virtual void clear(void* data, std::size_t bytes);
  /// Like copy(), but ordered before kernels that the calling thread launches later. It may be incomplete on return.
  virtual void queue_copy(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); }
  /// Like clear(), but ordered like queue_copy().
  virtual void queue_clear(void* data, std::size_t bytes) { clear(data, bytes); }
  /// Called when an arena hands out memory. The previous user has finished with it, and its contents are undefined.
  /// Test memories use the call to detect reads of uninitialised memory.
  virtual void handed_out(void* data, std::size_t bytes) noexcept;
};

/// The memory of the CPU backend and the reference backend.
DeviceMemory& host_memory();

/// A bump allocator for step memory. reset() frees everything at once. It also joins the blocks of the previous step
/// into one. So a step that repeats the previous one allocates nothing and gets the same addresses. Unused memory is
/// poisoned under AddressSanitizer. Belongs to one thread.
///
///     Arena arena(host_memory());
///     const Tensor x = arena.allocate(/*rows=*/2, /*cols=*/3, DType::kF32, Device::kCpu);
///     set_element(x, 0, 0, 1.5);                    // context.h
///     arena.reset();                                // x is invalid from here on
///
/// The memory must outlive the arena, and the arena everything that was allocated from it.
class Arena {
 public:
  static constexpr std::size_t kAlignment = 64;
  /// The number of bytes that allocate(bytes) takes. The next allocation begins right after them or in another block.
  static std::size_t room_of(std::size_t bytes) noexcept;

  explicit Arena(DeviceMemory& memory) : memory_(&memory) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// Returns uninitialised memory with 64-byte alignment. It is valid until reset(), or until rewind() to an earlier
  /// mark.
  void* allocate(std::size_t bytes);
  /// Returns an uninitialised contiguous tensor [rows, cols] in this memory.
  Tensor allocate(std::int64_t rows, std::int64_t cols, DType dtype, Device device);
  /// Frees everything, and joins the blocks if there are several.
  void reset();
  /// Frees everything and returns the blocks to the memory. The next allocation adds one again.
  void free_blocks() noexcept;

  /// A position in the arena.
  struct Mark {
    std::size_t block;
    std::size_t used;
  };
  /// Returns the current position, for rewind() and advance().
  Mark mark() const noexcept;
  /// Frees everything that was allocated after the mark.
  void rewind(Mark mark);
  /// Calls `take(data, bytes)` for each part of the memory that was allocated between two marks, one part per block.
  template <class Take>
  void for_each_part(Mark begin, Mark end, const Take& take) const {
    for (std::size_t i = begin.block; i <= end.block && i < blocks_.size(); ++i) {
      const std::size_t first = i == begin.block ? begin.used : 0;
      const std::size_t last = i == end.block ? end.used : blocks_[i].used;
      if (first < last) take(static_cast<char*>(blocks_[i].data) + first, last - first);
    }
  }
  /// Marks all memory before `mark` as allocated, the inverse of rewind(). The arena must have the same blocks as when
  /// the mark was taken.
  void advance(Mark mark);
  /// A number that changes whenever blocks are added or joined, and addresses with them.
  std::uint64_t generation() const noexcept { return generation_; }
  /// Returns true if the address belongs to a block of this arena.
  bool contains(const void* address) const noexcept;

  /// The size of all blocks in bytes, whether in use or not.
  std::size_t bytes_reserved() const noexcept;

 private:
  struct Block {
    void* data;
    std::size_t size;
    std::size_t used;
    std::size_t peak;  ///< largest value of `used` since the block was added
  };
  void add_block(std::size_t bytes);

  DeviceMemory* memory_;
  std::vector<Block> blocks_;
  std::size_t current_ = 0;
  std::uint64_t generation_ = 0;
};

/// Frees, at the end of the scope, everything that was allocated from the arena within it.
class ScratchScope {
 public:
  explicit ScratchScope(Arena& arena) : arena_(&arena), mark_(arena.mark()) {}
  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;
  ~ScratchScope() { arena_->rewind(mark_); }

 private:
  Arena* arena_;
  Arena::Mark mark_;
};

/// Owns one block of device memory, for weights and other data that outlive a step. It may be moved to another thread.
///
///     const Buffer buffer(host_memory(), /*bytes=*/1024);
class Buffer {
 public:
  Buffer() = default;
  /// Allocates `bytes` uninitialised bytes. `memory` must outlive the buffer. Throws like DeviceMemory::allocate().
  Buffer(DeviceMemory& memory, std::size_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
  /// Makes the buffer larger and keeps its contents; its address changes. Throws like DeviceMemory::allocate(), and
  /// then nothing has changed. The buffer must not be empty.
  void enlarge(std::size_t bytes);
  void* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }
  /// The memory that the buffer came from. The buffer must not be empty.
  DeviceMemory& memory() const noexcept { return *memory_; }

 private:
  DeviceMemory* memory_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace dragoman::tensor
