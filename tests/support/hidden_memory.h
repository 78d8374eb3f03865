#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <vector>

#include <dragoman/tensor/arena.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace dragoman::testing {

/// Device memory as on a GPU: host code that accesses it, except through the functions here, ends with SIGSEGV. If
/// several threads use it at a time, a forbidden access is detected only while no thread is allowed to access it.
class HiddenMemory : public tensor::DeviceMemory {
 public:
  HiddenMemory() : range_(map_range()) { free_[range_] = kRange; }
  HiddenMemory(const HiddenMemory&) = delete;
  HiddenMemory& operator=(const HiddenMemory&) = delete;
  ~HiddenMemory() override {
    if (free_.size() != 1 || free_.begin()->second != kRange) {
      std::fputs("hidden memory was not given back\n", stderr);
      std::abort();
    }
    munmap(range_, kRange);
  }

  void* allocate(std::size_t bytes) override {
    bytes = whole_pages(bytes);
    const std::lock_guard lock(mutex_);
    for (auto place = free_.begin(); place != free_.end(); ++place) {
      const auto [data, size] = *place;
      if (size < bytes) continue;
      free_.erase(place);
      if (size > bytes) free_[data + bytes] = size - bytes;
      used_ = std::max(used_, static_cast<std::size_t>(data - range_) + bytes);
      if (open_ > 0) mprotect(data, bytes, PROT_READ | PROT_WRITE);
      return data;
    }
    throw std::bad_alloc();
  }
  void deallocate(void* data, std::size_t bytes) noexcept override {
    ++waits_;
    bytes = whole_pages(bytes);
    const std::lock_guard lock(mutex_);
    madvise(data, bytes, MADV_DONTNEED);
    auto place = free_.emplace(static_cast<char*>(data), bytes).first;
    const auto next = std::next(place);
    if (next != free_.end() && place->first + place->second == next->first) {
      place->second += next->second;
      free_.erase(next);
    }
    if (place == free_.begin()) return;
    const auto before = std::prev(place);
    if (before->first + before->second != place->first) return;
    before->second += place->second;
    free_.erase(place);
  }

  bool host_readable() const noexcept override { return false; }
  void copy_in(void* to, const void* from, std::size_t bytes) override {
    ++waits_;
    const Open open(*this);
    DeviceMemory::copy_in(to, from, bytes);
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    ++uploads_;
    const Open open(*this);
    DeviceMemory::copy_in(to, from, bytes);
  }
  void copy_out(void* to, const void* from, std::size_t bytes) override {
    ++waits_;
    const Open open(*this);
    DeviceMemory::copy_out(to, from, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    ++waits_;
    HiddenMemory::queue_copy(to, from, bytes);
  }
  void clear(void* data, std::size_t bytes) override {
    ++waits_;
    HiddenMemory::queue_clear(data, bytes);
  }
  void queue_copy(void* to, const void* from, std::size_t bytes) override {
    const Open open(*this);
    DeviceMemory::copy(to, from, bytes);
  }
  void queue_clear(void* data, std::size_t bytes) override {
    const Open open(*this);
    DeviceMemory::clear(data, bytes);
  }
  std::unique_ptr<tensor::PendingRead> begin_read(const void* device, std::size_t bytes) override {
    return std::make_unique<Read>(*this, device, bytes);
  }

  /// The operations for which the host would have waited on a GPU.
  struct Counts {
    std::size_t waits = 0;  ///< in copies that are complete on return, and when memory is freed
    std::size_t uploads = 0;
    std::size_t reads = 0;            ///< number that were begun
    std::size_t reads_overtaken = 0;  ///< number that were waited for after a later one had been begun
  };
  Counts counts() const { return {waits_, uploads_, reads_, reads_overtaken_}; }

  /// Makes the memory readable and writable until close() has been called equally often.
  void open() {
    const std::lock_guard lock(mutex_);
    if (open_++ == 0) mprotect(range_, used_, PROT_READ | PROT_WRITE);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (--open_ == 0) mprotect(range_, used_, PROT_NONE);
  }
  /// Must be called before recorded kernels are replayed. They use the memory of the recorded step, which its arenas
  /// have freed since and thus poisoned for AddressSanitizer.
  void allow_replay() {
#if defined(__SANITIZE_ADDRESS__)
    const std::lock_guard lock(mutex_);
    ASAN_UNPOISON_MEMORY_REGION(range_, used_);
#endif
  }
  /// Returns the beginning of the memory, a multiple of its size of 2^33 bytes.
  void* range() const noexcept {
    return range_;
  }
  bool has(const void* data) const noexcept {
    return data >= range_ && data < range_ + kRange;
  }

  class Open {
   public:
    explicit Open(HiddenMemory& memory) : memory_(memory) { memory_.open(); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() { memory_.close(); }

   private:
    HiddenMemory& memory_;
  };

 protected:
  void count_wait() noexcept {
    ++waits_;
  }
  std::size_t count_read() noexcept {
    return ++reads_;
  }
  /// Records that the read with this number is waited for.
  void count_overtaken(std::size_t number) noexcept {
    if (reads_ > number) ++reads_overtaken_;
  }
  void copy_to_host(void* to, const void* from, std::size_t bytes) {
    const Open open(*this);
    DeviceMemory::copy_out(to, from, bytes);
  }

 private:
  /// A read on a device that has run all queued work.
  class Read final : public tensor::PendingRead {
   public:
    Read(HiddenMemory& memory, const void* device, std::size_t bytes)
        : memory_(memory), number_(memory.count_read()), bytes_(bytes) {
      memory.copy_to_host(bytes_.data(), device, bytes);
    }
    std::span<const std::byte> wait() override {
      memory_.count_overtaken(number_);
      return bytes_;
    }

   private:
    HiddenMemory& memory_;
    std::size_t number_;
    std::vector<std::byte> bytes_;
  };

  static constexpr std::size_t kRange = std::size_t{1} << 33;

  static char* map_range() {
    void* const data = mmap(nullptr, 2 * kRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    auto* const begin = static_cast<char*>(data);
    const std::size_t before = (kRange - reinterpret_cast<std::uintptr_t>(begin) % kRange) % kRange;
    if (before > 0) munmap(begin, before);
    munmap(begin + before + kRange, kRange - before);
    return begin + before;
  }

  static std::size_t whole_pages(std::size_t bytes) {
    return (bytes + 4095) / 4096 * 4096;
  }

  std::mutex mutex_;
  char* range_;
  std::map<char*, std::size_t> free_;
  std::size_t used_ = 0;  ///< nothing has been allocated after it
  int open_ = 0;
  std::atomic<std::size_t> waits_ = 0;
  std::atomic<std::size_t> uploads_ = 0;
  std::atomic<std::size_t> reads_ = 0;
  std::atomic<std::size_t> reads_overtaken_ = 0;
};

}  // namespace dragoman::testing
