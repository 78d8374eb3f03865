#include "dragoman/tokenizer/count_words.h"

#include "reading/collect_words.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

/// The number of words between checks of the stop request and reports of progress.
constexpr std::uint64_t kReportInterval = std::uint64_t{1} << 18;

class CountWriter {
 public:
  CountWriter(core::OutputFile& output, std::uint64_t min_count, const core::ProgressSink& progress,
              const std::stop_token& stop)
      : output_(output), min_count_(min_count), progress_(progress), stop_(stop) {}

  /// Words must come in the order of their bytes.
  template <class Words>
  void write_all(Words words) {
    while (words.next()) {
      if (all_.words % kReportInterval == 0) report();
      all_.add(words.count());
      if (words.count() >= min_count_)
        write(words.word(), words.count());
      else
        dropped_.add(words.count());
    }
  }
  const WordTotal& all() const { return all_; }
  const WordTotal& dropped() const { return dropped_; }

 private:
  void write(std::string_view word, std::uint64_t count) {
    line_ = fmt::format_int(count).c_str();
    line_ += '\t';
    line_ += word;
    line_ += '\n';
    output_.write(line_);
  }
  void report() const {
    core::require(!stop_.stop_requested(), core::ErrorCode::kInterrupted, "interrupted while writing counts to {}",
                  output_.name());
    core::report(progress_, {.stage = "write counts", .done = all_.words, .total = 0, .unit = "words", .figures = {}});
  }

  core::OutputFile& output_;
  std::uint64_t min_count_;
  const core::ProgressSink& progress_;
  const std::stop_token& stop_;
  WordTotal all_;
  WordTotal dropped_;
  std::string line_;
};

CountSummary write_counts(const WordSource& source, core::OutputFile& output, const CountOptions& options,
                          const core::ProgressSink& progress, const core::LogSink& log, const std::stop_token& stop) {
  core::require(!source.files.empty(), core::ErrorCode::kInvalidArgument, "there is no file to count");
  core::require(options.threads >= 0, core::ErrorCode::kInvalidArgument,
                "the number of threads is {}; it must not be negative", options.threads);
  const MemoryPlan plan = MemoryPlan::of(options.memory, options.threads);
  ThreadArena arena(plan.threads);
  CountedWords words = collect_words(source, plan, arena, progress, stop);
  CountWriter writer(output, options.min_count, progress, stop);
  if (words.on_disk) {
    writer.write_all(words.on_disk->merge());
  } else {
    arena.for_each(WordCounts::kTables, [&](std::size_t t) { words.in_memory.table(t).sort(); });
    writer.write_all(merge_tables(words.in_memory));
  }
  report_dropped(writer.dropped(), writer.all(), options.min_count, log);
  return {.words = writer.all().words - writer.dropped().words,
          .occurrences = writer.all().occurrences - writer.dropped().occurrences};
}

}  // namespace

CountSummary count_words(const std::vector<std::filesystem::path>& inputs, core::OutputFile& output,
                         const CountOptions& options, const core::ProgressSink& progress, const core::LogSink& log,
                         std::stop_token stop) {
  return write_counts(
      {.files = inputs, .kind = WordSource::Kind::kTexts, .invalid_utf8 = options.invalid_utf8, .log = log}, output,
      options, progress, log, stop);
}

CountSummary merge_counts(const std::vector<std::filesystem::path>& counts, core::OutputFile& output,
                          const CountOptions& options, const core::ProgressSink& progress, const core::LogSink& log,
                          std::stop_token stop) {
  return write_counts({.files = counts, .kind = WordSource::Kind::kCounts}, output, options, progress, log, stop);
}

}  // namespace dragoman::tokenizer
