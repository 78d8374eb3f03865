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

/// Which of the pairs that were there before are left out; the first one stays.
struct DuplicateOptions {
  bool pairs = true;    ///< those whose both sides were, together
  bool source = false;  ///< those whose source was, with any target
  bool target = false;
};

enum class Normalization : std::uint8_t { kNone, kNfc, kNfkc };

/// Where pairs are written: two files, or one in which a line is a pair (kTsv: source TAB target; kJsonl: objects with
/// the keys `source` and `target`). Nothing is written where `source` is empty.
struct PairOutput {
  PairFormat format = PairFormat::kText;
  std::string source{};  ///< of kTsv and kJsonl the one file
  std::string target{};
  bool empty() const noexcept { return source.empty(); }
};

struct PrepareOptions {
  /// Read one after the other, as if they were one.
  std::vector<PairFile> inputs;
  /// Before all else, of both sides.
  Normalization normalization = Normalization::kNone;
  /// Whether runs of white space become one space, and those at the ends nothing.
  bool squeeze_spaces = false;
  FilterOptions filters{};
  /// Of either side; 0: the one that most letters of the first kScriptLines pairs have.
  Script source_script = 0;
  Script target_script = 0;
  DuplicateOptions duplicates{};
  /// For lengths in pieces.
  PieceCounter source_pieces{};
  PieceCounter target_pieces{};
  /// How many of the pairs that stay go elsewhere, drawn by their sources. All pairs of one source, as it stands after
  /// normalisation, go to one side, so that what is tested was not trained on. There are fewer only if sources repeat
  /// such that none fits into what is left.
  std::uint64_t validation = 0;
  std::uint64_t test = 0;
  std::uint64_t seed = 1;
  PairOutput train{};
  PairOutput validation_output{};
  PairOutput test_output{};
  /// Pairs that were left out, with the reason: columns reason, file, line, source, target, or with a name in .jsonl
  /// (.jsonl.gz, .jsonl.zst) objects with these keys. Empty: nowhere.
  std::string rejected{};
  int threads = 0;  ///< as core::thread_count(); the output does not depend on it
};

/// So many pairs tell the main script of a side.
inline constexpr std::uint64_t kScriptLines = 10000;

struct PrepareSummary {
  PairStatistics input;  ///< of all lines that hold a pair
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

/// Cleans and splits a parallel corpus, in one pass: a line of the input is kept or dropped on both sides. Pairs stay
/// in their order, but for those that were candidates for a split for a while. Memory does not grow with the input but
/// for 22 to 43 bytes for each pair that was kept, for each kind of duplicates that is looked for. The same bytes for
/// any number of threads. Output files appear when all are complete; an interruption (Error{kInterrupted}) or a failure
/// leaves none. Error{kBadInput} for files of different length and for an input without lines, naming both; a line that
/// does not hold a pair is dropped as kMalformed.
PrepareSummary prepare(const PrepareOptions& options, const core::ProgressSink& progress = {},
                       const std::stop_token& stop = {});

/// For people: lines, what each filter dropped, statistics.
std::string describe(const PrepareSummary& summary, LengthUnit unit);
core::Json to_json(const PrepareSummary& summary, LengthUnit unit);

}  // namespace dragoman::corpus
