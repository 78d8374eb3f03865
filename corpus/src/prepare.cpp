#include "dragoman/corpus/prepare.h"

#include "corpus/seen_texts.h"
#include "pair_writer.h"
#include "split_choice.h"
#include "text_cleaner.h"

#include <deque>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/in_order.h>
#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>
#include <dragoman/core/publish_together.h>
#include <dragoman/core/utf8.h>

namespace dragoman::corpus {
namespace {

using core::ErrorCode;

/// The bytes that one task reads, cleans and filters.
constexpr std::size_t kChunkBytes = std::size_t{1} << 18;

/// Lines of one of the inputs.
struct Chunk {
  RawPairs raw;
  PairParser parser;
  std::string file;
};

/// The result for one line.
struct JudgedPair {
  ParsedPair texts;
  std::optional<Reason> reason;
  /// The words, characters and length of one side.
  struct Side {
    std::uint64_t words = 0;
    std::uint64_t characters = 0;
    std::uint64_t length = 0;
  };
  Side source;
  Side target;
};

struct JudgedChunk {
  std::vector<JudgedPair> pairs;
  PairStatistics statistics;
  std::string file;
  std::uint64_t first_line = 1;
};

JudgedPair::Side side_of(const SideProfile& profile) {
  return {.words = profile.text.words, .characters = profile.text.characters, .length = profile.length};
}

void add(PairStatistics& statistics, const JudgedPair& pair) {
  ++statistics.pairs;
  statistics.source.add(pair.texts.source.size(), pair.source.words, pair.source.characters, pair.source.length);
  statistics.target.add(pair.texts.target.size(), pair.target.words, pair.target.characters, pair.target.length);
}

/// Reads all inputs, one after the other.
class InputReader {
 public:
  InputReader(const std::vector<PairFile>& files, const std::stop_token& stop) : files_(&files), stop_(stop) {
    core::require(!files.empty(), ErrorCode::kInvalidArgument, "there is no input");
  }

  std::optional<Chunk> next() {
    for (;;) {
      core::require(!stop_.stop_requested(), ErrorCode::kInterrupted, "interrupted; nothing was written");
      if (!reader_) {
        if (next_file_ == files_->size()) return std::nullopt;
        reader_.emplace((*files_)[next_file_++], stop_);
      }
      if (std::optional<RawPairs> raw = reader_->read(kChunkBytes))
        return Chunk{std::move(*raw), reader_->parser(), reader_->name()};
      core::require(reader_->lines_read() > 0, ErrorCode::kBadInput, "{}: 0 lines; there is nothing to prepare",
                    reader_->name());
      reader_.reset();
    }
  }

 private:
  const std::vector<PairFile>* files_;
  std::stop_token stop_;
  std::size_t next_file_ = 0;
  std::optional<PairReader> reader_;
};

class Preparation {
 public:
  Preparation(const PrepareOptions& options, const core::ProgressSink& progress, const std::stop_token& stop)
      : options_(options),
        progress_(progress),
        stop_(stop),
        cleaner_(options.normalization, options.squeeze_spaces),
        filter_(options.filters, options.source_pieces, options.target_pieces),
        input_(options.inputs, stop),
        split_(options.validation, options.test, options.seed),
        train_(options.train, stop),
        validation_(options.validation_output, stop),
        test_(options.test_output, stop),
        rejected_(options.rejected, stop) {
    core::require_places_for_marks(files());
  }

  PrepareSummary run() {
    find_scripts();
    const auto executor = core::make_executor(options_.threads);
    core::process_in_order<Chunk, JudgedChunk>(
        *executor, std::stop_source{}, [this] { return next_chunk(); },
        [this](const Chunk& chunk) { return judge(chunk); },
        [this](JudgedChunk&& chunk) {
          take(std::move(chunk));
          return true;
        });
    finish();
    return summary_;
  }

 private:
  /// Determines the main scripts. Keeps the chunks that it reads for next_chunk().
  void find_scripts() {
    std::array<std::uint64_t, 256> source{};
    std::array<std::uint64_t, 256> target{};
    ParsedPair pair;
    std::uint64_t lines = 0;
    const bool wanted =
        options_.filters.minimum_script > 0 && (options_.source_script == 0 || options_.target_script == 0);
    while (wanted && lines < kScriptLines) {
      std::optional<Chunk> chunk = input_.next();
      if (!chunk) break;
      for (std::size_t i = 0; i < chunk->raw.size() && lines < kScriptLines; ++i, ++lines) {
        chunk->parser.parse(chunk->raw, i, pair);
        const TextProfile profiles[] = {profile_of(pair.source), profile_of(pair.target)};
        for (std::size_t script = 0; script < 256; ++script) {
          source[script] += profiles[0].scripts[script];
          target[script] += profiles[1].scripts[script];
        }
      }
      ahead_.push_back(std::move(*chunk));
    }
    summary_.source_script = options_.source_script != 0 ? options_.source_script : main_script(source);
    summary_.target_script = options_.target_script != 0 ? options_.target_script : main_script(target);
    filter_.set_scripts(summary_.source_script, summary_.target_script);
  }

  std::optional<Chunk> next_chunk() {
    if (ahead_.empty()) return input_.next();
    Chunk chunk = std::move(ahead_.front());
    ahead_.pop_front();
    return chunk;
  }

  JudgedChunk judge(const Chunk& chunk) const {
    JudgedChunk judged{.pairs = std::vector<JudgedPair>(chunk.raw.size()),
                       .statistics = {},
                       .file = chunk.file,
                       .first_line = chunk.raw.first_line()};
    for (std::size_t i = 0; i < chunk.raw.size(); ++i) {
      JudgedPair& pair = judged.pairs[i];
      chunk.parser.parse(chunk.raw, i, pair.texts);
      judge_pair(pair);
      if (pair.reason != Reason::kMalformed)
        add(judged.statistics, pair);
      else if (pair.texts.source.empty() && pair.texts.target.empty())
        pair.texts.source = chunk.raw.line(i);
    }
    return judged;
  }

  void judge_pair(JudgedPair& pair) const {
    ParsedPair& texts = pair.texts;
    if (texts.problem.empty() && (core::find_invalid_utf8(texts.source) != std::string::npos ||
                                  core::find_invalid_utf8(texts.target) != std::string::npos))
      texts.problem = "not UTF-8";
    if (!texts.problem.empty()) {
      pair.reason = Reason::kMalformed;
      return;
    }
    cleaner_.clean(texts.source);
    cleaner_.clean(texts.target);
    const SideProfile source = filter_.source_profile(texts.source);
    const SideProfile target = filter_.target_profile(texts.target);
    pair.source = side_of(source);
    pair.target = side_of(target);
    pair.reason = filter_.judge(texts.source, source, texts.target, target);
  }

  /// Receives the chunks in input order, from one thread at a time.
  void take(JudgedChunk&& chunk) {
    core::require(!stop_.stop_requested(), ErrorCode::kInterrupted, "interrupted; nothing was written");
    summary_.input += chunk.statistics;
    for (std::size_t i = 0; i < chunk.pairs.size(); ++i) {
      JudgedPair& pair = chunk.pairs[i];
      if (!pair.reason) pair.reason = find_duplicate(pair.texts);
      if (!pair.reason) {
        add(summary_.kept, pair);
        place(pair.texts.source, pair.texts.target);
        continue;
      }
      ++summary_.dropped[static_cast<std::size_t>(*pair.reason)];
      rejected_.write({.reason = *pair.reason,
                       .file = chunk.file,
                       .line = chunk.first_line + i,
                       .source = pair.texts.source,
                       .target = pair.texts.target,
                       .problem = pair.texts.problem});
    }
    summary_.lines += chunk.pairs.size();
    core::report(progress_, {.stage = "prepare",
                             .done = summary_.lines,
                             .unit = "lines",
                             .figures = {{"kept", static_cast<double>(summary_.kept.pairs)}}});
  }

  /// Returns whether the pair is a duplicate. Only kept pairs are remembered: a pair dropped for its target does not
  /// make its source a duplicate.
  std::optional<Reason> find_duplicate(const ParsedPair& texts) {
    const DuplicateOptions& wanted = options_.duplicates;
    const TextKey source = wanted.source ? key_of(texts.source) : TextKey{};
    const TextKey target = wanted.target ? key_of(texts.target) : TextKey{};
    const TextKey pair = wanted.pairs ? key_of(texts.source, texts.target) : TextKey{};
    if (wanted.pairs && seen_pairs_.contains(pair)) return Reason::kDuplicate;
    if (wanted.source && seen_sources_.contains(source)) return Reason::kDuplicateSource;
    if (wanted.target && seen_targets_.contains(target)) return Reason::kDuplicateTarget;
    if (wanted.pairs) seen_pairs_.insert(pair);
    if (wanted.source) seen_sources_.insert(source);
    if (wanted.target) seen_targets_.insert(target);
    return std::nullopt;
  }

  void place(std::string_view source, std::string_view target) {
    const auto release = [this](const Candidate& pair) { train_.write(pair.source, pair.target); };
    const bool splits = options_.validation + options_.test > 0;
    if (!splits || !split_.offer(source, target, release)) train_.write(source, target);
  }

  void finish() {
    write_splits();
    core::require(!stop_.stop_requested(), ErrorCode::kInterrupted, "interrupted; nothing was written");
    const std::uint64_t malformed = summary_.dropped[static_cast<std::size_t>(Reason::kMalformed)];
    core::require(malformed == 0 || malformed < summary_.lines, ErrorCode::kBadInput,
                  "none of the {} lines holds a pair where the options say it is (columns of TSV, keys of JSON lines); "
                  "nothing was written",
                  summary_.lines);
    for_each_output([](auto& output) { output.complete(); });
    core::publish_together(files());
    summary_.train = train_.pairs();
    summary_.validation = validation_.pairs();
    summary_.test = test_.pairs();
  }

  template <class Step>
  void for_each_output(const Step& step) {
    step(train_);
    step(validation_);
    step(test_);
    step(rejected_);
  }

  std::vector<core::OutputFile*> files() {
    std::vector<core::OutputFile*> files;
    for_each_output([&](auto& output) { output.add_files(files); });
    return files;
  }

  void write_splits() {
    const std::uint64_t wanted = options_.validation + options_.test;
    if (wanted == 0) return;
    const SplitChoice::Split split = split_.finish();
    const auto write = [](const SourceGroup& pairs, PairWriter& writer) {
      for (const Candidate& pair : pairs) writer.write(pair.source, pair.target);
    };
    write(split.rest, train_);
    write(split.validation, validation_);
    write(split.test, test_);
    core::require(
        train_.pairs() > 0, ErrorCode::kBadInput,
        "{} pairs are left, of which {} are for validation and {} for test; nothing would remain for training",
        summary_.kept.pairs, options_.validation, options_.test);
    core::require(
        (options_.validation == 0 || validation_.pairs() > 0) && (options_.test == 0 || test_.pairs() > 0),
        ErrorCode::kBadInput,
        "no source has so few pairs that {} for validation and {} for test could hold it whole; ask for more, "
        "or leave out pairs whose source was there before",
        options_.validation, options_.test);
  }

  const PrepareOptions& options_;
  const core::ProgressSink& progress_;
  std::stop_token stop_;
  TextCleaner cleaner_;
  PairFilter filter_;
  InputReader input_;
  std::deque<Chunk> ahead_;
  SeenTexts seen_pairs_;
  SeenTexts seen_sources_;
  SeenTexts seen_targets_;
  SplitChoice split_;
  PairWriter train_;
  PairWriter validation_;
  PairWriter test_;
  RejectionWriter rejected_;
  PrepareSummary summary_;
};

}  // namespace

std::uint64_t PrepareSummary::dropped_in_all() const {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0});
}

PrepareSummary prepare(const PrepareOptions& options, const core::ProgressSink& progress, const std::stop_token& stop) {
  for (const PairFile& file : options.inputs) check(file);
  return Preparation(options, progress, stop).run();
}

std::string describe(const PrepareSummary& summary, LengthUnit unit) {
  std::string text =
      fmt::format("{} lines: {} pairs kept, {} dropped\n", summary.lines, summary.kept.pairs, summary.dropped_in_all());
  for (std::size_t i = 0; i < kReasons; ++i)
    if (summary.dropped[i] > 0)
      text += fmt::format("  {:<20}{:>16}{:>8.2f} %\n", name_of(static_cast<Reason>(i)), summary.dropped[i],
                          100.0 * static_cast<double>(summary.dropped[i]) / static_cast<double>(summary.lines));
  if (summary.validation + summary.test > 0)
    text += fmt::format("train {}, validation {}, test {}\n", summary.train, summary.validation, summary.test);
  if (summary.source_script != 0 || summary.target_script != 0)
    text += fmt::format("scripts: {} and {}\n", name_of_script(summary.source_script),
                        name_of_script(summary.target_script));
  text += fmt::format("kept, {:.3f} source {} for one of the target:\n", summary.kept.ratio(), name_of(unit));
  return text + describe(summary.kept, unit);
}

core::Json to_json(const PrepareSummary& summary, LengthUnit unit) {
  core::Json dropped = core::Json::object();
  for (std::size_t i = 0; i < kReasons; ++i) dropped[std::string(name_of(static_cast<Reason>(i)))] = summary.dropped[i];
  return {{"lines", summary.lines},
          {"kept", summary.kept.pairs},
          {"dropped", std::move(dropped)},
          {"train", summary.train},
          {"validation", summary.validation},
          {"test", summary.test},
          {"unit", name_of(unit)},
          {"source_script", name_of_script(summary.source_script)},
          {"target_script", name_of_script(summary.target_script)},
          {"statistics", {{"input", to_json(summary.input)}, {"kept", to_json(summary.kept)}}}};
}

}  // namespace dragoman::corpus
