#include "dragoman/tensor/free_list_arena.h"

#include "poison.h"

#include <algorithm>
#include <tuple>

#include <dragoman/core/error.h>

namespace dragoman::tensor {
namespace {

constexpr std::size_t kUnit = 64;
constexpr std::size_t kSmallestBlock = std::size_t{1} << 20;

std::size_t in_units(std::size_t bytes, std::size_t unit) {
  return (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
}

}  // namespace

FreeListArena::~FreeListArena() {
  free_blocks();
}

void FreeListArena::free_blocks() noexcept {
  for (const Buffer& block : owned_) unpoison(block.data(), block.size());
  owned_.clear();
  blocks_.clear();
  free_.clear();
  ++generation_;
}

std::size_t FreeListArena::best_fit(std::size_t bytes) const {
  std::size_t best = free_.size();
  for (std::size_t i = 0; i < free_.size(); ++i) {
    const std::size_t room = free_[i].end - free_[i].begin;
    if (room >= bytes && (best == free_.size() || room < free_[best].end - free_[best].begin)) best = i;
  }
  return best;
}

void FreeListArena::add_block(std::size_t bytes) {
  owned_.emplace_back(*memory_, bytes);
  blocks_.push_back({static_cast<char*>(owned_.back().data()), bytes});
  poison(blocks_.back().data, bytes);
  free_.push_back({blocks_.size() - 1, 0, bytes});
  ++generation_;
}

void* FreeListArena::allocate(std::size_t bytes) {
  bytes = in_units(bytes, kUnit);
  std::size_t place = best_fit(bytes);
  if (place == free_.size()) add_block(in_units(bytes, kSmallestBlock));
  Range& range = free_[place];
  char* data = blocks_[range.block].data + range.begin;
  range.begin += bytes;
  if (range.begin == range.end) free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(place));
  unpoison(data, bytes);
  memory_->handed_out(data, bytes);
  return data;
}

void FreeListArena::release(void* data, std::size_t bytes) {
  bytes = in_units(bytes, kUnit);
  const auto* first = static_cast<const char*>(data);
  std::size_t block = 0;
  while (block < blocks_.size() && (first < blocks_[block].data || first >= blocks_[block].data + blocks_[block].size))
    ++block;
  core::require(block < blocks_.size(), core::ErrorCode::kInternal, "memory is given back to whom it is not from");
  poison(data, bytes);
  const auto begin = static_cast<std::size_t>(first - blocks_[block].data);
  const auto next = std::partition_point(free_.begin(), free_.end(), [&](const Range& range) {
    return std::tie(range.block, range.begin) < std::tie(block, begin);
  });
  const auto at = free_.insert(next, {block, begin, begin + bytes});
  const auto after = at + 1;
  if (after != free_.end() && after->block == block && after->begin == at->end) {
    at->end = after->end;
    free_.erase(after);
  }
  if (at != free_.begin() && (at - 1)->block == block && (at - 1)->end == begin) {
    (at - 1)->end = at->end;
    free_.erase(at);
  }
}

void FreeListArena::lend(void* data, std::size_t bytes) {
  core::require(reinterpret_cast<std::uintptr_t>(data) % kUnit == 0 && bytes % kUnit == 0,
                core::ErrorCode::kInvalidArgument, "lent memory must be in whole units of {} bytes", kUnit);
  blocks_.push_back({static_cast<char*>(data), bytes});
}

void FreeListArena::reset() {
  if (owned_.size() > 1) {
    const std::size_t total = bytes_reserved();
    free_blocks();
    add_block(total);
    return;
  }
  free_.clear();
  blocks_.clear();
  if (owned_.empty()) return;
  blocks_.push_back({static_cast<char*>(owned_[0].data()), owned_[0].size()});
  poison(blocks_[0].data, blocks_[0].size);
  free_.push_back({0, 0, blocks_[0].size});
}

std::size_t FreeListArena::bytes_reserved() const noexcept {
  std::size_t total = 0;
  for (const Buffer& block : owned_) total += block.size();
  return total;
}

}  // namespace dragoman::tensor
