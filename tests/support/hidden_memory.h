#pragma once

#include <sys/mman.h>

#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include <dragoman/tensor/arena.h>

namespace dragoman::testing {

/// Device memory as that of a GPU: whoever touches it from the host, but for the verbs, ends with SIGSEGV.
class HiddenMemory final : public tensor::DeviceMemory {
 public:
  HiddenMemory() = default;
  HiddenMemory(const HiddenMemory&) = delete;
  HiddenMemory& operator=(const HiddenMemory&) = delete;
  ~HiddenMemory() override { EXPECT_TRUE(blocks_.empty()) << "memory was not given back"; }

  void* allocate(std::size_t bytes) override {
    void* data = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    const std::lock_guard lock(mutex_);
    blocks_[static_cast<char*>(data)] = bytes;
    return data;
  }
  void deallocate(void* data, std::size_t bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    blocks_.erase(static_cast<char*>(data));
    munmap(data, bytes);
  }

  bool host_readable() const noexcept override { return false; }
  void copy_in(void* to, const void* from, std::size_t bytes) override {
    const Open open(*this, to);
    DeviceMemory::copy_in(to, from, bytes);
  }
  void copy_out(void* to, const void* from, std::size_t bytes) override {
    const Open open(*this, from);
    DeviceMemory::copy_out(to, from, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    const Open destination(*this, to);
    const Open source(*this, from);
    DeviceMemory::copy(to, from, bytes);
  }
  void clear(void* data, std::size_t bytes) override {
    const Open open(*this, data);
    DeviceMemory::clear(data, bytes);
  }

 private:
  /// Makes the block of an address readable and writable for a while.
  class Open {
   public:
    Open(HiddenMemory& memory, const void* data) {
      const std::lock_guard lock(memory.mutex_);
      auto block = memory.blocks_.upper_bound(static_cast<char*>(const_cast<void*>(data)));
      if (block == memory.blocks_.begin()) throw std::out_of_range("an address that is not of this memory");
      --block;
      begin_ = block->first;
      bytes_ = block->second;
      mprotect(begin_, bytes_, PROT_READ | PROT_WRITE);
    }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() { mprotect(begin_, bytes_, PROT_NONE); }

   private:
    char* begin_;
    std::size_t bytes_;
  };

  std::mutex mutex_;
  std::map<char*, std::size_t> blocks_;
};

}  // namespace dragoman::testing
