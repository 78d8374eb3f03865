#include "dragoman/tokenizer/learn_codes.h"

#include "learning/codes_learner.h"

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

/// The number of merges between checks of the stop request and reports of progress.
constexpr std::size_t kCodesPerReport = 256;

CodesWords lay_out(std::span<const CodesWord> words, SymbolNames& names) {
  CodesWords laid_out;
  std::vector<std::int32_t> symbols;
  for (const CodesWord& word : words) {
    core::require(core::find_invalid_utf8(word.text) == std::string_view::npos, core::ErrorCode::kBadInput,
                  "the word {} is not valid UTF-8", core::Quoted{word.text});
    symbols.clear();
    std::size_t last = 0;
    for (std::size_t i = 0; i < word.text.size();) {
      const std::size_t length = core::decode_utf8(word.text, i).length;
      symbols.push_back(names.id(word.text.substr(i, length)));
      last = i;
      i += length;
    }
    if (symbols.empty()) continue;
    symbols.back() = names.id(std::string(word.text.substr(last)) + "</w>");
    laid_out.add(symbols, word.count);
  }
  return laid_out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> learn_codes(std::span<const CodesWord> words,
                                                             const LearnCodesOptions& options,
                                                             const core::ProgressSink& progress,
                                                             const std::stop_token& stop) {
  core::require(options.min_frequency >= 1, core::ErrorCode::kInvalidArgument,
                "the smallest frequency is {}; it must be at least 1", options.min_frequency);
  SymbolNames names;
  CodesLearner learner(lay_out(words, names), names);
  const auto report = [&](std::size_t done) {
    if (done % kCodesPerReport != 0) return;
    core::require(!stop.stop_requested(), core::ErrorCode::kInterrupted, "interrupted while learning merges");
    core::report(progress,
                 {.stage = "learn merges", .done = done, .total = options.merges, .unit = "merges", .figures = {}});
  };
  std::vector<std::pair<std::string, std::string>> merges;
  for (const SymbolPair& pair : learner.learn(options.merges, options.min_frequency, report))
    merges.emplace_back(names[pair.left], names[pair.right]);
  return merges;
}

}  // namespace dragoman::tokenizer
