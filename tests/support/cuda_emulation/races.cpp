#include "races.h"

#include "block.h"
#include "launch.h"
#include "watch.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include <fmt/format.h>

namespace dragoman::testing::emulation {
namespace {

constexpr std::size_t kCellBytes = 2;  ///< of device memory; the smallest element that kernels use

constexpr std::uint16_t kSeveralThreads = 0xFFFF;
constexpr std::uint16_t kSeveralBlocks = 0xFFFE;

/// A use of a cell. No block has the run 0.
struct Use {
  std::uint32_t run = 0;
  std::uint16_t thread = 0;
  std::uint16_t epoch = 0;
};
/// The last write and the last reads of a cell.
struct Cell {
  Use write;
  Use read;
};

std::atomic<std::uint32_t> next_run = 1;
/// The runs of the calling thread's current launch; empty between launches.
thread_local std::uint32_t first_run = 0;
thread_local std::uint32_t end_run = 0;

/// The cells of each device's memory. They are kept for the next device at the same address, because runs do not
/// repeat.
std::array<std::atomic<Cell*>, std::size_t{1} << (47 - kRangeBits)> cells;

Cell* cell_of(const void* address) {
  static std::mutex mutex;
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  auto& slot = cells.at(number >> kRangeBits);
  Cell* begin = slot;
  if (begin == nullptr) {
    const std::lock_guard lock(mutex);
    begin = slot;
    if (begin == nullptr) {
      void* const data = mmap(nullptr, kRange / kCellBytes * sizeof(Cell), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (data == MAP_FAILED) throw std::bad_alloc();
      slot = begin = static_cast<Cell*>(data);
    }
  }
  return begin + (number & (kRange - 1)) / kCellBytes;
}

bool in_launch(const Use& use) {
  return use.run >= first_run && use.run < end_run;
}

/// Returns whether the two uses are unordered.
bool race(const Use& before, const Use& now) {
  if (!in_launch(before)) return false;
  if (before.run != now.run || before.thread == kSeveralBlocks) return true;
  return before.thread != now.thread && before.epoch == now.epoch;
}

std::string describe(const Use& use, const Use& now) {
  if (use.thread == kSeveralBlocks || use.run != now.run) return "another block";
  return use.thread == kSeveralThreads ? "another thread" : fmt::format("thread {}", use.thread);
}

Use with_reader(const Use& before, const Use& now) {
  if (!in_launch(before) || (before.run == now.run && before.epoch != now.epoch && before.thread != kSeveralBlocks))
    return now;
  Use both = now;
  if (before.run != now.run || before.thread == kSeveralBlocks)
    both.thread = kSeveralBlocks;
  else if (before.thread != now.thread)
    both.thread = kSeveralThreads;
  return both;
}

}  // namespace

std::atomic<bool> watches_races = std::getenv("DRAGOMAN_TEST_RACES") != nullptr;

void set_watched_races(bool watched) noexcept {
  watches_races = watched;
  update_watched_accesses();
}

LaunchRaces::LaunchRaces(std::uint32_t blocks) : first_(next_run.fetch_add(blocks)) {
  first_run = first_;
  end_run = first_ + blocks;
}
LaunchRaces::~LaunchRaces() {
  first_run = end_run = 0;
}

void check_races(const void* address, std::size_t bytes, bool writes, const void* code) {
  const Block* const block = Block::running();
  if (block == nullptr) return;
  const Use now{block->place().run, static_cast<std::uint16_t>(block->thread()),
                static_cast<std::uint16_t>(block->epoch())};
  Cell* const first = cell_of(address);
  const Cell* const end = cell_of(static_cast<const char*>(address) + bytes - 1) + 1;
  for (Cell* cell = first; cell != end; ++cell) {
    if (race(cell->write, now))
      return Block::report(fmt::format("{} {} bytes at {}, which {} has written in the same launch ({})",
                                       writes ? "writes" : "reads", bytes, address, describe(cell->write, now),
                                       place_of_code(code)));
    if (writes && race(cell->read, now))
      return Block::report(fmt::format("writes {} bytes at {}, which {} has read in the same launch ({})", bytes,
                                       address, describe(cell->read, now), place_of_code(code)));
    if (writes)
      cell->write = now;
    else
      cell->read = with_reader(cell->read, now);
  }
}

}  // namespace dragoman::testing::emulation
