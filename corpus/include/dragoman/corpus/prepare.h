#pragma once

#include <array>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/core/log.h>
#include <dragoman/corpus/filters.h>
#include <dragoman/corpus/pair_file.h>
#include <dragoman/corpus/statistics.h>

namespace dragoman::corpus {

/// Specifies which repeated pairs are dropped. The first occurrence is kept.
struct DuplicateOptions {
  bool pairs = true;    ///< pairs whose source and target occurred together before
  bool source = false;  ///< pairs whose source occurred before, with any target
  bool target = false;  ///< pairs whose target occurred before, with any source
};

/// The Unicode normalisation form of texts.
enum class Normalization : std::uint8_t { kNone, kNfc, kNfkc };

/// The output for pairs: two files, or one file with a pair in each line (kTsv: source TAB target; kJsonl: objects with
/// the keys `source` and `target`). If `source` is empty, nothing is written.
struct PairOutput {
  PairFormat format = PairFormat::kText;
  std::string source{};  ///< for kTsv and kJsonl the only file
  std::string target{};
  bool empty() const noexcept { return source.empty(); }
};

/// The inputs, filters and outputs of prepare().
struct PrepareOptions {
  /// The inputs, read one after the other as if they were one file.
  std::vector<PairFile> inputs;
  /// Applied to both sides before everything else.
  Normalization normalization = Normalization::kNone;
  /// Whether runs of whitespace become one space, and whitespace at the ends is removed.
  bool squeeze_spaces = false;
  FilterOptions filters{};
  /// The expected script of each side. 0: the script of most letters in the first kScriptLines pairs.
  Script source_script = 0;
  Script target_script = 0;
  DuplicateOptions duplicates{};
  /// Needed for lengths in pieces.
  PieceCounter source_pieces{};
  PieceCounter target_pieces{};
  /// The number of kept pairs for each held-out set, selected at random by their sources. All pairs with the same
  /// source (after normalisation) go to the same set, so a tested source never occurs in training. A set is smaller
  /// only if no remaining source has few enough pairs to fit.
  std::uint64_t validation = 0;
  std::uint64_t test = 0;
  std::uint64_t seed = 1;
  PairOutput train{};
  PairOutput validation_output{};
  PairOutput test_output{};
  /// The file for dropped pairs and the reasons, with the columns reason, file, line, source, target. If the name ends
  /// in .jsonl (.jsonl.gz, .jsonl.zst), the lines are objects with these keys. Empty: none.
  std::string rejected{};
  int threads = 0;  ///< as for core::thread_count(); does not affect the output
};

/// The number of pairs from which the main script of a side is determined.
inline constexpr std::uint64_t kScriptLines = 10000;

/// The counts of prepare(). `dropped` is indexed by Reason.
struct PrepareSummary {
  PairStatistics input;  ///< all lines that hold a pair
  PairStatistics kept;
  std::uint64_t lines = 0;
  std::uint64_t train = 0;
  std::uint64_t validation = 0;
  std::uint64_t test = 0;
  std::array<std::uint64_t, kReasons> dropped{};
  Script source_script = 0;
  Script target_script = 0;
  std::uint64_t dropped_in_all() const;
};

/// Cleans and splits a parallel corpus in one pass. A line of the input is kept or dropped on both sides.
///
///     prepare({.inputs = {{.source = "raw.de", .target = "raw.en"}},
///              .validation = 2000,
///              .train = {.source = "train.de", .target = "train.en"},
///              .validation_output = {.source = "valid.de", .target = "valid.en"}});
///
/// Pairs keep their order, except for temporary candidates for a held-out set. The output is the same for any number of
/// threads. Memory does not grow with the input, except for 22 to 43 bytes for each kept pair and each kind of
/// duplicates that is dropped.
///
/// The output files appear when all of them are complete. An interruption (Error{kInterrupted}) or a failure leaves
/// none. Throws Error{kBadInput} that names the files if their lengths differ or if the input has no lines. A line that
/// does not hold a pair is dropped as kMalformed.
PrepareSummary prepare(const PrepareOptions& options, const core::ProgressSink& progress = {},
                       const std::stop_token& stop = {});

/// Returns a report for people: lines, pairs dropped by each filter, statistics.
std::string describe(const PrepareSummary& summary, LengthUnit unit);
core::Json to_json(const PrepareSummary& summary, LengthUnit unit);

}  // namespace dragoman::corpus
