#include "reading/memory_plan.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
/// The program and its libraries, buffers of files and of sorted runs, and the pieces of a vocabulary.
constexpr std::uint64_t kProgram = 40 * kMegabyte;
/// Two chunks in progress and, in tables of long words, the blocks that have been started.
constexpr std::uint64_t kChunksOfThread = 2;
constexpr std::uint64_t kSmallestChunk = 4 * kMegabyte;
constexpr std::uint64_t kBlocksOfThread = 4 * kMegabyte;
constexpr std::uint64_t kSmallestTables = 4 * kMegabyte;
/// The factor by which tables grow at most when they are joined, normalised and laid out.
constexpr std::uint64_t kGrowth = 12;
/// The share of the budget for chunks, which may be large if words are long.
constexpr std::uint64_t kChunkShare = 8;

/// PairStatistics has cells, and lists of positions that may become three times as long. Its pairs grow with the
/// vocabulary until there are no more. 46 languages with 9.9 million cells took 18 bytes per cell for 10 000 pieces, 23
/// for 30 000, 25 for 100 000 and 46 for 560 000, which were all.
constexpr std::uint64_t kBytesPerCell = 24;
constexpr std::uint64_t kBytesPerPiece = 4096;
constexpr std::uint64_t kMaxBytesPerCell = 54;

std::uint64_t smallest_budget(int threads) {
  const std::uint64_t per_thread = kChunksOfThread * kSmallestChunk + kBlocksOfThread + kSmallestTables;
  return kProgram + static_cast<std::uint64_t>(threads) * per_thread;
}

}  // namespace

MemoryPlan MemoryPlan::of(const MemoryBudget& budget, int threads) {
  MemoryPlan plan;
  plan.threads = threads > 0 ? threads : core::default_threads();
  plan.temporary_folder = budget.temporary_folder;
  plan.budget = budget.bytes;
  if (!plan.is_limited()) return plan;
  while (threads == 0 && plan.threads > 1 && smallest_budget(plan.threads) > budget.bytes) --plan.threads;
  core::require(budget.bytes >= smallest_budget(plan.threads), core::ErrorCode::kInvalidArgument,
                "a memory budget of {} bytes is too small for {} {}: it must be at least {}{}", budget.bytes,
                plan.threads, plan.threads == 1 ? "thread" : "threads", in_megabytes(smallest_budget(plan.threads)),
                plan.threads == 1 ? "" : ", or the threads fewer");
  const auto of_thread = (budget.bytes - kProgram) / static_cast<std::uint64_t>(plan.threads) - kBlocksOfThread;
  plan.chunk_bytes = std::max(kSmallestChunk, of_thread / kChunkShare / kChunksOfThread);
  plan.table_bytes = of_thread - kChunksOfThread * plan.chunk_bytes;
  plan.in_memory_bytes = plan.table_bytes * static_cast<std::uint64_t>(plan.threads) / kGrowth;
  return plan;
}

std::uint64_t learning_bytes(std::uint64_t cells, std::uint64_t vocab_size) {
  return kProgram + std::min(cells * kMaxBytesPerCell, cells * kBytesPerCell + vocab_size * kBytesPerPiece);
}

std::uint64_t most_cells(const MemoryPlan& plan, std::uint64_t vocab_size) {
  if (!plan.is_limited()) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t room = plan.budget - kProgram;
  const std::uint64_t pieces = std::min(room, vocab_size * kBytesPerPiece);
  return std::max(room / kMaxBytesPerCell, (room - pieces) / kBytesPerCell);
}

std::string in_megabytes(std::uint64_t bytes) {
  return fmt::format("{}MB", bytes / kMegabyte + (bytes % kMegabyte == 0 ? 0 : 1));
}

}  // namespace dragoman::tokenizer
