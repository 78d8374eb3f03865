#pragma once

#include "reading/chunk_reader.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <dragoman/core/in_order.h>
#include <dragoman/core/run_stop.h>

namespace dragoman::tokenizer {

/// core::process_in_order over chunks whose memory is reused. `bool read(Chunk&)` fills a chunk, or returns false at
/// the end. `process(const Chunk&)` returns its result, and `bool write(result)` receives it.
template <class Read, class Process, class Write>
void process_chunks(core::Executor& executor, const core::RunStop& stop, Read&& read, Process&& process,
                    Write&& write) {
  using Item = std::shared_ptr<Chunk>;
  using Result = decltype(process(std::declval<const Chunk&>()));
  ChunkPool pool;
  const auto next = [&]() -> std::optional<Item> {
    Item chunk = pool.take();
    return read(*chunk) ? std::optional(std::move(chunk)) : std::nullopt;
  };
  const auto process_one = [&](const Item& chunk) {
    Result result = process(*chunk);
    pool.give_back(chunk);
    return result;
  };
  core::process_in_order<Item, Result>(executor, stop.source(), next, process_one, write);
}

/// Processes chunks without results: `visit(const Chunk&)` is called for several chunks at a time, in any order.
template <class Read, class Visit>
void visit_chunks(core::Executor& executor, const core::RunStop& stop, Read&& read, Visit&& visit) {
  const auto visit_one = [&](const Chunk& chunk) {
    visit(chunk);
    return std::monostate();
  };
  process_chunks(executor, stop, read, visit_one, [](std::monostate) { return true; });
}

}  // namespace dragoman::tokenizer
