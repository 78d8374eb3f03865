#pragma once

#include "learning/pair_statistics.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/hash_tables.h>
#include <dragoman/core/log.h>
#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Adds merges to a definition until it has the requested number of pieces, or until no pair is left.
class MergeLearner {
 public:
  /// `definition` must outlive the object, and its pieces must be the symbols of the statistics. No merge produces a
  /// piece of more than `max_piece_length` characters; 0 means no limit. If `may_be_piece` is set, it decides which
  /// texts merges may produce.
  MergeLearner(BpeDefinition& definition, std::size_t wanted_pieces, std::size_t max_piece_length = 0,
               std::function<bool(std::string_view)> may_be_piece = {});

  void run(PairStatistics& statistics, const core::ProgressSink& progress, const std::stop_token& stop);

 private:
  void report(const core::ProgressSink& progress, const std::stop_token& stop) const;
  std::int32_t result_of(const PairStatistics::Pair& pair);

  BpeDefinition& definition_;
  std::size_t wanted_;
  std::size_t max_piece_length_;
  std::function<bool(std::string_view)> may_be_piece_;
  core::TextMap<std::int32_t> ids_;
  std::vector<bool> reserved_;  // by id of the first pieces: merges must not produce the piece
};

/// Returns the number of merges until the definition has `wanted_pieces` pieces.
inline std::size_t merges_up_to(std::size_t wanted_pieces, const BpeDefinition& definition) {
  return wanted_pieces - std::min(wanted_pieces, definition.pieces.size());
}

/// Warns if a vocabulary is smaller than requested.
void warn_if_short(const BpeDefinition& definition, std::size_t wanted_pieces, std::uint64_t min_frequency,
                   const core::LogSink& log);

}  // namespace dragoman::tokenizer
