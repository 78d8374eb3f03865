#include "dragoman/tensor/arena.h"

#include "poison.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <dragoman/core/huge_pages.h>

namespace dragoman::tensor {
namespace {

constexpr std::size_t kFirstBlock = std::size_t{1} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

class HostMemory final : public DeviceMemory {
 public:
  void* allocate(std::size_t bytes) override {
    return bytes >= kMapped ? core::map_pages(bytes) : core::allocate_pages(bytes);
  }
  void deallocate(void* data, std::size_t bytes) noexcept override {
    bytes >= kMapped ? core::unmap_pages(data, bytes) : core::free_pages(data, bytes);
  }
  void* enlarge(void* data, std::size_t bytes, std::size_t larger) override {
    return bytes >= kMapped ? core::remap_pages(data, bytes, larger) : DeviceMemory::enlarge(data, bytes, larger);
  }

 private:
  static constexpr std::size_t kMapped = std::size_t{256} << 10;
};

/// A read that is complete when it is created.
class DoneRead final : public PendingRead {
 public:
  DoneRead(DeviceMemory& memory, const void* from, std::size_t bytes) : copy_(bytes) {
    memory.copy_out(copy_.data(), from, bytes);
  }
  std::span<const std::byte> wait() override { return copy_; }

 private:
  std::vector<std::byte> copy_;
};

}  // namespace

PendingRead::~PendingRead() = default;
DeviceMemory::~DeviceMemory() = default;

void* DeviceMemory::enlarge(void* data, std::size_t bytes, std::size_t larger) {
  void* result = allocate(larger);
  copy(result, data, bytes);
  deallocate(data, bytes);
  return result;
}

std::unique_ptr<PendingRead> DeviceMemory::begin_read(const void* from, std::size_t bytes) {
  return std::make_unique<DoneRead>(*this, from, bytes);
}

bool DeviceMemory::reads_host_memory() const noexcept {
  return this == &host_memory();
}

void DeviceMemory::copy_in(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);  // an empty tensor may be a null pointer
}

void DeviceMemory::copy_out(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void DeviceMemory::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void DeviceMemory::clear(void* data, std::size_t bytes) {
  if (bytes > 0) std::memset(data, 0, bytes);
}

void DeviceMemory::handed_out(void*, std::size_t) noexcept {}

DeviceMemory& host_memory() {
  // Never destroyed, because static objects may release memory at exit.
  static HostMemory& memory = *new HostMemory;
  return memory;
}

Arena::~Arena() {
  free_blocks();
}

void Arena::free_blocks() noexcept {
  for (const Block& block : blocks_) {
    unpoison(block.data, block.size);
    memory_->deallocate(block.data, block.size);
  }
  blocks_.clear();
  current_ = 0;
  ++generation_;
}

void Arena::add_block(std::size_t bytes) {
  blocks_.reserve(blocks_.size() + 1);
  void* data = memory_->allocate(bytes);
  poison(data, bytes);
  blocks_.push_back({data, bytes, 0, 0});
  current_ = blocks_.size() - 1;
  ++generation_;
}

std::size_t Arena::room_of(std::size_t bytes) noexcept {
  return round_up(std::max<std::size_t>(bytes, 1), kAlignment);
}

void* Arena::allocate(std::size_t bytes) {
  bytes = room_of(bytes);
  while (current_ < blocks_.size() && blocks_[current_].size - blocks_[current_].used < bytes) {
    if (current_ + 1 == blocks_.size()) break;
    ++current_;
  }
  if (blocks_.empty() || blocks_[current_].size - blocks_[current_].used < bytes) {
    add_block(round_up(std::max(bytes, bytes_reserved() / 2), kFirstBlock));
  }
  Block& block = blocks_[current_];
  void* data = static_cast<char*>(block.data) + block.used;
  block.used += bytes;
  block.peak = std::max(block.peak, block.used);
  unpoison(data, bytes);
  memory_->handed_out(data, bytes);
  return data;
}

Tensor Arena::allocate(std::int64_t rows, std::int64_t cols, DType dtype, Device device) {
  const auto bytes = static_cast<std::size_t>(rows * cols) * size_of(dtype);
  return {allocate(bytes), rows, cols, cols, dtype, device};
}

void Arena::reset() {
  if (blocks_.size() > 1) {
    std::size_t needed = 0;
    for (const Block& block : blocks_) needed += block.peak;
    free_blocks();
    add_block(round_up(needed + needed / 8, kFirstBlock));  // with room for a slightly larger step
  }
  if (!blocks_.empty()) {
    poison(blocks_[0].data, blocks_[0].size);
    blocks_[0].used = 0;
  }
  current_ = 0;
}

Arena::Mark Arena::mark() const noexcept {
  return {current_, blocks_.empty() ? 0 : blocks_[current_].used};
}

void Arena::rewind(Mark mark) {
  if (blocks_.empty()) return;
  for (std::size_t i = mark.block; i < blocks_.size(); ++i) {
    Block& block = blocks_[i];
    const std::size_t keep = i == mark.block ? mark.used : 0;
    poison(static_cast<char*>(block.data) + keep, block.size - keep);
    block.used = keep;
  }
  current_ = mark.block;
}

void Arena::advance(Mark mark) {
  if (blocks_.empty()) return;
  for (std::size_t i = 0; i <= mark.block; ++i) {
    Block& block = blocks_[i];
    block.used = i == mark.block ? mark.used : block.size;
    unpoison(block.data, block.used);
  }
  current_ = mark.block;
}

bool Arena::contains(const void* address) const noexcept {
  return std::ranges::any_of(blocks_, [&](const Block& block) {
    return address >= block.data && address < static_cast<const char*>(block.data) + block.size;
  });
}

std::size_t Arena::bytes_reserved() const noexcept {
  std::size_t total = 0;
  for (const Block& block : blocks_) total += block.size;
  return total;
}

Buffer::Buffer(DeviceMemory& memory, std::size_t bytes)
    : memory_(&memory), data_(memory.allocate(std::max<std::size_t>(bytes, 1))), bytes_(bytes) {}

Buffer::Buffer(Buffer&& other) noexcept
    : memory_(other.memory_), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Buffer::enlarge(std::size_t bytes) {
  data_ = memory_->enlarge(data_, std::max<std::size_t>(bytes_, 1), bytes);
  bytes_ = bytes;
}

Buffer::~Buffer() {
  if (data_ != nullptr) memory_->deallocate(data_, std::max<std::size_t>(bytes_, 1));
}

}  // namespace dragoman::tensor
