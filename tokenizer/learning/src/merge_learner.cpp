#include "learning/merge_learner.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

/// The number of merges between checks of the stop request and reports of progress.
constexpr std::size_t kMergesPerReport = 256;

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

MergeLearner::MergeLearner(BpeDefinition& definition, std::size_t wanted_pieces, std::size_t max_piece_length,
                           std::function<bool(std::string_view)> may_be_piece)
    : definition_(definition),
      wanted_(wanted_pieces),
      max_piece_length_(max_piece_length),
      may_be_piece_(std::move(may_be_piece)) {
  for (std::size_t id = 0; id < definition.pieces.size(); ++id) {
    ids_.emplace(definition.pieces[id], static_cast<std::int32_t>(id));
    reserved_.push_back(definition.byte_fallback() && byte_of_piece(definition.pieces[id]).has_value());
  }
  for (const AddedToken& token : definition.added_tokens) reserved_[static_cast<std::size_t>(token.id)] = true;
}

void MergeLearner::run(PairStatistics& statistics, const core::ProgressSink& progress, const std::stop_token& stop) {
  for (std::size_t round = 0; definition_.pieces.size() < wanted_; ++round) {
    if (round % kMergesPerReport == 0) report(progress, stop);
    const auto best = statistics.pop_best();
    if (!best) break;
    const std::int32_t result = result_of(*best);
    if (result < 0) continue;
    definition_.merges.push_back({best->left, best->right, result});
    statistics.merge(*best, result);
  }
  report(progress, stop);
}

void MergeLearner::report(const core::ProgressSink& progress, const std::stop_token& stop) const {
  core::require(!stop.stop_requested(), core::ErrorCode::kInterrupted,
                "interrupted while learning merges; nothing was written");
  core::report(
      progress,
      {.stage = "learn merges", .done = definition_.pieces.size(), .total = wanted_, .unit = "pieces", .figures = {}});
}

/// Returns the piece that a merge produces, which is new or known. Returns -1 if it would spell a special token, a byte
/// piece or a user symbol, would be too long, or is excluded by the caller.
std::int32_t MergeLearner::result_of(const PairStatistics::Pair& pair) {
  std::string text = definition_.pieces[static_cast<std::size_t>(pair.left)] +
                     definition_.pieces[static_cast<std::size_t>(pair.right)];
  if (max_piece_length_ > 0 && count_characters(text) > max_piece_length_) return -1;
  if (may_be_piece_ && !may_be_piece_(text)) return -1;
  const auto [found, is_new] = ids_.try_emplace(text, static_cast<std::int32_t>(definition_.pieces.size()));
  if (is_new) definition_.pieces.push_back(std::move(text));
  const auto id = static_cast<std::size_t>(found->second);
  return id < reserved_.size() && reserved_[id] ? -1 : found->second;
}

void warn_if_short(const BpeDefinition& definition, std::size_t wanted_pieces, std::uint64_t min_frequency,
                   const core::LogSink& log) {
  if (definition.pieces.size() >= wanted_pieces) return;
  core::log(
      log, core::LogLevel::kWarning,
      fmt::format(
          "the corpus holds no further pair that occurs {} times or more; the vocabulary has {} pieces instead of {}",
          std::max<std::uint64_t>(min_frequency, 1), definition.pieces.size(), wanted_pieces));
}

}  // namespace dragoman::tokenizer
