#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dragoman/tensor/tensor.h>

namespace dragoman::tensor {

/// A copy to the host that is under way: of what the device has computed when all that was queued before has run.
/// What is queued behind it may overwrite that, and is not waited for. Belongs to the thread that began it.
class PendingRead {
 public:
  virtual ~PendingRead();
  /// Valid as long as this lives.
  virtual std::span<const std::byte> wait() = 0;
};

/// The memory of one device. Host memory is 64-byte aligned; blocks of 2 MiB and more are advised to be huge pages
/// before their first touch (THP is commonly in `madvise` mode). Thread-safe.
///
/// The host may not touch what it may not read: data crosses the border through the verbs below (or a HostView), which
/// are done when they return unless they say otherwise, and kernels do the rest. Where host and device share memory
/// they are plain copies.
class DeviceMemory {
 public:
  virtual ~DeviceMemory();
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void deallocate(void* data, std::size_t bytes) noexcept = 0;

  /// Whether the host may read and write the memory itself.
  virtual bool host_readable() const noexcept { return true; }
  /// Whether kernels may read whatever the host can: then nothing needs to be uploaded, and weights can stay in a
  /// mapped file. More than the above: memory that both share (managed memory) is readable, but a vector's is not.
  virtual bool reads_host_memory() const noexcept;
  /// From the host to the device.
  virtual void copy_in(void* to, const void* from, std::size_t bytes);
  /// The same of what kernels read that the calling thread launches afterwards. It need not be done on return, though
  /// `from` may change then.
  virtual void upload(void* to, const void* from, std::size_t bytes) { copy_in(to, from, bytes); }
  /// From the device to the host.
  virtual void copy_out(void* to, const void* from, std::size_t bytes);
  /// The same without waiting for it.
  virtual std::unique_ptr<PendingRead> begin_read(const void* from, std::size_t bytes);
  /// Within the device.
  virtual void copy(void* to, const void* from, std::size_t bytes);
  /// Sets all bytes to 0.
  virtual void clear(void* data, std::size_t bytes);
  /// As copy(), of what kernels use that the calling thread launches afterwards. It need not be done on return.
  virtual void queue_copy(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); }
  virtual void queue_clear(void* data, std::size_t bytes) { clear(data, bytes); }
  /// Called for memory that an arena hands out again. Its former user is done with it, and its contents are undefined.
  /// Memory of tests refuses to have them read.
  virtual void handed_out(void* data, std::size_t bytes) noexcept;
};

/// That of the CPU and the reference backend.
DeviceMemory& host_memory();

/// Bump allocator of step memory. Freed all at once by reset(), which also joins the blocks that the last step needed
/// into one, so that from the second equal step on nothing is allocated and addresses repeat. Poisoned between steps
/// under AddressSanitizer. Belongs to one thread.
class Arena {
 public:
  static constexpr std::size_t kAlignment = 64;
  /// The size of the memory that allocate(bytes) takes. The next allocation begins after it, or in another block.
  static std::size_t room_of(std::size_t bytes) noexcept;

  explicit Arena(DeviceMemory& memory) : memory_(&memory) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// 64-byte aligned, uninitialised; valid until reset() or until rewind() to an earlier mark.
  void* allocate(std::size_t bytes);
  Tensor allocate(std::int64_t rows, std::int64_t cols, DType dtype, Device device);
  void reset();

  struct Mark {
    std::size_t block;
    std::size_t used;
  };
  Mark mark() const noexcept;
  /// Frees what was allocated after the mark.
  void rewind(Mark mark);
  /// The opposite: what lies before the mark counts as allocated, as it was when the mark was made of the same blocks.
  void advance(Mark mark);
  /// Changes when addresses do: when blocks are added or joined.
  std::uint64_t generation() const noexcept { return generation_; }
  bool contains(const void* address) const noexcept;

  std::size_t bytes_reserved() const noexcept;

 private:
  struct Block {
    void* data;
    std::size_t size;
    std::size_t used;
    std::size_t peak;  ///< of `used`, since it was made
  };
  void add_block(std::size_t bytes);
  void release_blocks() noexcept;

  DeviceMemory* memory_;
  std::vector<Block> blocks_;
  std::size_t current_ = 0;
  std::uint64_t generation_ = 0;
};

/// Frees at the end of the scope what was allocated from the arena within it.
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

/// Owns one block of device memory, for weights and other things that outlive a step.
class Buffer {
 public:
  Buffer() = default;
  Buffer(DeviceMemory& memory, std::size_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
  void* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }
  /// Where it is from; not of an empty buffer.
  DeviceMemory& memory() const noexcept { return *memory_; }

 private:
  DeviceMemory* memory_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace dragoman::tensor
