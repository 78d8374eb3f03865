#include "dragoman/training/corpus.h"

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/fingerprint.h>
#include <dragoman/core/random.h>
#include <dragoman/core/utf8.h>

namespace dragoman::training {
namespace {

using core::ErrorCode;

/// Lines that are read before they are encoded together.
constexpr std::size_t kBlockLines = 4096;
/// Lines that one task encodes.
constexpr std::int64_t kTaskLines = 64;

/// The 64-bit seed of one epoch's dropout of one side.
std::uint64_t dropout_seed(std::uint64_t seed, std::int64_t epoch, std::uint64_t side) {
  constexpr std::uint64_t kStream = 0x6270652D64726F70U;
  const core::RandomBlock block = core::random_block(seed, kStream + side, static_cast<std::uint64_t>(epoch));
  return (std::uint64_t{block[1]} << 32) | block[0];
}

void drop_carriage_return(std::string& line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
}

/// Reads on to the end, so that a message can name both lengths.
std::uint64_t count_to_end(core::LineReader& reader) {
  std::string line;
  while (reader.next(line)) {
  }
  return reader.line_number();
}

[[noreturn]] void fail_unequal(core::LineReader& source, core::LineReader& target, bool source_goes_on) {
  const std::uint64_t source_lines = source_goes_on ? count_to_end(source) : source.line_number();
  const std::uint64_t target_lines = source_goes_on ? target.line_number() : count_to_end(target);
  core::fail(ErrorCode::kBadInput, "{} has {} lines, but {} has {}; parallel files need equal numbers of lines",
             source.name(), source_lines, target.name(), target_lines);
}

/// What stands around the tokens of one side's lines.
struct Frame {
  std::span<const std::int32_t> prefix;
  std::int32_t end;
  std::span<const std::int32_t> suffix;
};

Frame source_frame(const CorpusOptions& options) {
  return {options.tags.source_prefix, options.end, options.tags.source_suffix};
}

Frame target_frame(const CorpusOptions& options) {
  return {options.tags.target_prefix, options.end, {}};
}

/// Empty if the line has no tokens.
std::vector<std::int32_t> encode_line(const tokenizer::Tokenizer& tokenizer, std::string_view line, const Frame& frame,
                                      const tokenizer::EncodeOptions& options) {
  std::vector<std::int32_t> ids = tokenizer.encode(line, options);
  if (ids.empty()) return ids;
  ids.insert(ids.begin(), frame.prefix.begin(), frame.prefix.end());
  ids.push_back(frame.end);
  ids.insert(ids.end(), frame.suffix.begin(), frame.suffix.end());
  return ids;
}

}  // namespace

std::string hexadecimal(std::uint64_t fingerprint) {
  return fmt::format("{:016x}", fingerprint);
}

void SequenceList::append(std::span<const std::int32_t> sequence) {
  tokens_.insert(tokens_.end(), sequence.begin(), sequence.end());
  offsets_.push_back(tokens_.size());
}

void LineList::append(std::string_view line) {
  text_ += line;
  offsets_.push_back(text_.size());
}

Corpus::Corpus(const TextPair& files, TokenizerPair tokenizers, const CorpusOptions& options, core::Executor& executor,
               const core::ProgressSink& progress, const std::stop_token& stop)
    : tokenizers_(std::move(tokenizers)), options_(options), executor_(&executor), hash_(core::kFingerprintOfNothing) {
  core::require(files.source.size() == files.target.size(), ErrorCode::kInvalidArgument,
                "{} source files, but {} target files", files.source.size(), files.target.size());
  core::require(files.weights.empty() || files.weights.size() == files.source.size(), ErrorCode::kInvalidArgument,
                "{} source files, but {} weights", files.source.size(), files.weights.size());
  for (std::size_t i = 0; i < files.source.size(); ++i) {
    read_files(files.source[i], files.target[i], executor, progress, stop);
    if (!files.weights.empty()) pairs_.parts.push_back({.end = pairs_.size(), .weight = files.weights[i]});
  }
  core::require(
      pairs_.size() > 0, ErrorCode::kBadInput,
      "{}: no usable pair among {} lines ({} empty, {} longer than {} tokens); check the files and data.maximum_length",
      files.source.empty() ? "data" : files.source.front(), counts_.lines, counts_.empty, counts_.too_long,
      options_.maximum_length);
  core::require(pairs_.size() <= UINT32_MAX, ErrorCode::kUnsupported, "{} pairs; at most 2^32 can be trained on",
                pairs_.size());
  fingerprint_ = hexadecimal(hash_);
}

void Corpus::read_files(const std::string& source, const std::string& target, core::Executor& executor,
                        const core::ProgressSink& progress, const std::stop_token& stop) {
  core::LineReader source_reader{std::filesystem::path(source), stop};
  core::LineReader target_reader{std::filesystem::path(target), stop};
  std::vector<std::string> source_lines;
  std::vector<std::string> target_lines;
  std::string source_line;
  std::string target_line;
  for (bool more = true; more;) {
    more = source_reader.next(source_line);
    if (more != target_reader.next(target_line)) fail_unequal(source_reader, target_reader, more);
    if (more) {
      drop_carriage_return(source_line);
      drop_carriage_return(target_line);
      source_lines.push_back(source_line);
      target_lines.push_back(target_line);
    }
    if (source_lines.size() < kBlockLines && more) continue;
    encode_block(source_lines, target_lines, executor);
    core::report(progress, {.stage = "read", .done = counts_.lines, .unit = "lines", .figures = {}});
    core::require(!stop.stop_requested(), ErrorCode::kInterrupted, "interrupted while reading {}", source);
  }
}

void Corpus::encode_block(std::vector<std::string>& source, std::vector<std::string>& target,
                          core::Executor& executor) {
  const auto lines = static_cast<std::int64_t>(source.size());
  std::vector<std::vector<std::int32_t>> source_ids(source.size());
  std::vector<std::vector<std::int32_t>> target_ids(source.size());
  for (auto* side : {&source, &target})
    for (std::string& line : *side) {
      hash_ = core::fingerprint_of_line(line, hash_);
      if (core::replace_invalid_utf8(line) > 0) ++counts_.invalid_text;
    }
  core::for_each_range(executor, lines, kTaskLines, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      source_ids[i] = encode_line(*tokenizers_.source, source[i], source_frame(options_), {});
      target_ids[i] = encode_line(*tokenizers_.target, target[i], target_frame(options_), {});
    }
  });
  for (std::size_t i = 0; i < source.size(); ++i) append_pair(source[i], target[i], source_ids[i], target_ids[i]);
  source.clear();
  target.clear();
}

void Corpus::append_pair(std::string_view source_line, std::string_view target_line,
                         std::span<const std::int32_t> source, std::span<const std::int32_t> target) {
  ++counts_.lines;
  const auto longest = static_cast<std::size_t>(options_.maximum_length);
  if (source.empty() || target.empty()) {
    ++counts_.empty;
  } else if (source.size() > longest || target.size() > longest) {
    ++counts_.too_long;
  } else {
    pairs_.source.append(source);
    pairs_.target.append(target);
    if (!options_.keep_text && options_.bpe_dropout == 0) return;
    source_text_.append(source_line);
    target_text_.append(target_line);
  }
}

const EncodedPairs& Corpus::epoch(std::int64_t epoch) {
  if (options_.bpe_dropout == 0) return pairs_;
  if (epoch == dropped_epoch_) return dropped_;
  const auto encode_side = [&](const tokenizer::Tokenizer& tokenizer, const LineList& text, const SequenceList& usual,
                               const Frame& frame, std::uint64_t side) {
    std::vector<std::vector<std::int32_t>> ids(text.size());
    tokenizer::EncodeOptions options{.mode = tokenizer::EncodingMode::kDropout, .dropout = options_.bpe_dropout};
    options.seed = dropout_seed(options_.seed, epoch, side);
    core::for_each_range(*executor_, static_cast<std::int64_t>(text.size()), kTaskLines,
                         [&](std::int64_t begin, std::int64_t end) {
                           for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
                             tokenizer::EncodeOptions line_options = options;
                             line_options.line = i;
                             ids[i] = encode_line(tokenizer, text[i], frame, line_options);
                           }
                         });
    SequenceList sequences;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool fits = ids[i].size() <= static_cast<std::size_t>(options_.maximum_length);
      sequences.append(fits ? std::span<const std::int32_t>(ids[i]) : usual[i]);
    }
    return sequences;
  };
  dropped_.source = encode_side(*tokenizers_.source, source_text_, pairs_.source, source_frame(options_), 0);
  dropped_.target = encode_side(*tokenizers_.target, target_text_, pairs_.target, target_frame(options_), 1);
  dropped_.parts = pairs_.parts;
  dropped_epoch_ = epoch;
  return dropped_;
}

}  // namespace dragoman::training
