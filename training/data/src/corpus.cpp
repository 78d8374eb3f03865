#include "dragoman/training/corpus.h"

#include "data/block_store.h"
#include "pair_encoder.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/fingerprint.h>
#include <dragoman/core/json.h>
#include <dragoman/core/utf8.h>
#include <dragoman/corpus/pair_file.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using core::ErrorCode;
using core::Json;

/// Lines that are read before they are encoded together.
constexpr std::size_t kBlockLines = 4096;
/// Lines that one task encodes.
constexpr std::int64_t kTaskLines = 64;
/// The share of a block in the budget: a window of eight blocks in use and one being read take half of it.
constexpr std::uint64_t kBlocksOfBudget = 32;

/// Returns the properties that distinguish a file without reading it.
Json identity_of(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return {{"name", path}};
  const auto time = fs::last_write_time(path, error).time_since_epoch();
  return {{"name", path}, {"size", size}, {"time", std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()}};
}

Json identity_of(const corpus::PairFile& file) {
  Json json{{"source", identity_of(file.source)}, {"format", static_cast<int>(file.format)}};
  switch (file.format) {
    case corpus::PairFormat::kText:
      json["target"] = identity_of(file.target);
      if (file.aligned()) json["alignment"] = identity_of(file.alignment);
      break;
    case corpus::PairFormat::kTsv:
      json["columns"] = {file.source_column, file.target_column};
      if (file.aligned()) json["alignment"] = file.alignment_column;
      break;
    case corpus::PairFormat::kJsonl:
      json["keys"] = {file.source_key, file.target_key};
      if (file.aligned()) json["alignment"] = file.alignment_key;
      break;
  }
  return json;
}

/// Returns whether the properties of all files identify their content. The content of a pipe cannot be identified.
bool are_told_apart(const std::vector<CorpusPart>& texts) {
  const auto is_told = [](const std::string& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
  };
  for (const CorpusPart& text : texts)
    for (const corpus::PairFile& file : text.files)
      for (const std::string* path : {&file.source, &file.target, &file.alignment})
        if (!path->empty() && !is_told(*path)) return false;
  return true;
}

/// Returns the identity of everything that blocks depend on.
Json identity_of(const std::vector<CorpusPart>& texts, const CorpusOptions& options, const PairEncoder& encoder) {
  Json list = Json::array();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Json files = Json::array();
    for (const corpus::PairFile& file : texts[i].files) files.push_back(identity_of(file));
    const formats::SequenceTags& tags = encoder.tags_of(i);
    list.push_back(
        {{"files", std::move(files)}, {"tags", {tags.source_prefix, tags.source_suffix, tags.target_prefix}}});
  }
  Json identity{
      {"texts", std::move(list)}, {"tokenizers", options.tokenizers}, {"maximum_length", options.maximum_length},
      {"end", options.end},       {"memory", options.memory},         {"keeps_text", encoder.keeps_text()}};
  if (options.alignment_units == AlignmentUnits::kPieces) identity["alignment_units"] = "pieces";
  return identity;
}

enum class PairFate : std::uint8_t { kKept, kEmpty, kTooLong };

/// The optional contents of a block, besides the tokens of its pairs.
struct BlockContent {
  bool text = false;
  bool links = false;
};

/// Adds a pair to a block unless it is left out. Only this function determines the content of a block, because a
/// rebuilt block must have the same bytes.
PairFate add_pair(const PairEncoder& encoder, BlockContent content, const PairLines& lines, const PairSequences& pair,
                  EncodedBlock& block) {
  if (pair.source.empty() || pair.target.empty()) return PairFate::kEmpty;
  if (encoder.is_too_long(pair)) return PairFate::kTooLong;
  block.source.append(pair.source);
  block.target.append(pair.target);
  if (content.links) block.links.append(pair.links);
  if (!content.text) return PairFate::kKept;
  block.source_text.append(lines.source);
  block.target_text.append(lines.target);
  if (content.links) block.alignment_text.append(lines.alignment.value_or(""));
  return PairFate::kKept;
}

/// Returns the lines of a pair, with the alignment if the text has alignments.
PairLines lines_of(std::string_view source, std::string_view target, std::string_view alignment, bool aligned) {
  return {source, target, aligned ? std::optional(alignment) : std::nullopt};
}

bool is_aligned(const CorpusPart& text) {
  return std::ranges::any_of(text.files, &corpus::PairFile::aligned);
}

/// Returns whether the blocks of an index, which may be damaged, refer to existing texts.
bool are_of_texts(const std::vector<BlockInfo>& blocks, const std::vector<CorpusPart>& texts) {
  return std::ranges::all_of(blocks, [&](const BlockInfo& block) {
    return block.text < texts.size() && block.file < texts[block.text].files.size() && block.line > 0;
  });
}

/// Rebuilds a block from the current texts, which may have changed.
EncodedBlock make_anew(const std::vector<CorpusPart>& texts, const PairEncoder& encoder, BlockContent content,
                       const BlockInfo& info) {
  corpus::PairReader reader(texts.at(info.text).files.at(info.file));
  reader.skip(info.line - 1);
  EncodedBlock block;
  corpus::ParsedPair pair;
  while (block.size() < info.pairs && reader.next(pair)) {
    core::replace_invalid_utf8(pair.source);
    core::replace_invalid_utf8(pair.target);
    const PairLines lines = lines_of(pair.source, pair.target, pair.alignment, is_aligned(texts[info.text]));
    add_pair(encoder, content, lines, encoder.encode(lines, info.text), block);
  }
  return block;
}

/// A pair without draws.
struct UsualPair {
  const SequenceList& source;
  const SequenceList& target;
  const SequenceList& links;  ///< empty: no text has links
  std::size_t index;
};

/// Appends a pair of an epoch. A side that is too long is replaced by the one without draws; with links, which refer to
/// both sides, both sides are replaced.
void append_drawn(const PairEncoder& encoder, const PairSequences& drawn, const UsualPair& usual, EncodedPairs& pairs) {
  const bool linked = usual.links.size() > 0;
  const bool whole = linked && encoder.is_too_long(drawn);
  const auto append = [&](const std::vector<std::int32_t>& ids, const SequenceList& others, SequenceList& out) {
    out.append(whole || encoder.is_too_long(ids.size()) ? others[usual.index] : std::span<const std::int32_t>(ids));
  };
  append(drawn.source, usual.source, pairs.source);
  append(drawn.target, usual.target, pairs.target);
  if (linked) pairs.links.append(whole ? usual.links[usual.index] : std::span<const std::int32_t>(drawn.links));
}

}  // namespace

std::string hexadecimal(std::uint64_t fingerprint) {
  return fmt::format("{:016x}", fingerprint);
}

void SequenceList::append(std::span<const std::int32_t> sequence) {
  tokens_.insert(tokens_.end(), sequence.begin(), sequence.end());
  offsets_.push_back(tokens_.size());
}

void SequenceList::append(const SequenceList& others) {
  const std::size_t before = tokens_.size();
  tokens_.insert(tokens_.end(), others.tokens_.begin(), others.tokens_.end());
  for (std::size_t i = 1; i < others.offsets_.size(); ++i) offsets_.push_back(before + others.offsets_[i]);
}

void LineList::append(std::string_view line) {
  text_ += line;
  offsets_.push_back(text_.size());
}

void LineList::append(const LineList& others) {
  const std::size_t before = text_.size();
  text_ += others.text_;
  for (std::size_t i = 1; i < others.offsets_.size(); ++i) offsets_.push_back(before + others.offsets_[i]);
}

std::vector<double> weights_by_temperature(const std::vector<std::uint64_t>& pairs, double temperature) {
  double all = 0;
  double powers = 0;
  for (const std::uint64_t n : pairs) {
    all += static_cast<double>(n);
    if (n > 0) powers += std::pow(static_cast<double>(n), 1 / temperature);
  }
  std::vector<double> weights;
  constexpr double kSteps = 1 << 20;
  for (const std::uint64_t n : pairs) {
    const auto own = static_cast<double>(n);
    const double weight = n == 0 ? 0 : all * std::pow(own, 1 / temperature) / powers / own;
    weights.push_back(std::round(weight * kSteps) / kSteps);
  }
  return weights;
}

/// The state between two lines while a corpus is read.
struct Corpus::Reading {
  std::size_t text = 0;
  std::size_t file = 0;
  std::optional<corpus::PairReader> reader;
  bool aligned = false;  ///< whether the text has alignments
  /// Lines that are to be encoded, and the number of the first one.
  std::vector<std::string> source, target, alignment;
  std::uint64_t first_line = 1;
  std::uint64_t hash = core::kFingerprintOfNothing;
  /// The pairs of the current block (without a budget, the only block), and complete blocks, until they exceed the
  /// budget and are written to `folder`.
  EncodedBlock block{};
  BlockInfo info{};
  std::vector<std::pair<EncodedBlock, BlockInfo>> complete{};
  std::uint64_t complete_bytes = 0;
  fs::path folder{};
  std::optional<BlockWriter> writer{};

  PairLines lines(std::size_t i) const {
    return lines_of(source[i], target[i], aligned ? std::string_view(alignment[i]) : "", aligned);
  }
  void close_block(const CorpusOptions& options);
};

/// A complete block goes to disk if an earlier one has.
void Corpus::Reading::close_block(const CorpusOptions& options) {
  if (options.memory == 0 || block.size() == 0) return;
  if (writer) {
    writer->write(block, info);
    block = {};
    return;
  }
  complete_bytes += block.bytes();
  complete.emplace_back(std::move(block), info);
  block = {};
  if (complete_bytes <= options.memory) return;
  writer.emplace(folder);
  for (auto& [pairs, place] : complete) {
    writer->write(pairs, place);
    pairs = {};
  }
  complete.clear();
}

Corpus::~Corpus() = default;
Corpus::Corpus(Corpus&&) noexcept = default;

Corpus::Corpus(const ParallelCorpusConfig& files, TokenizerPair tokenizers, const CorpusOptions& options,
               core::Executor& executor, const core::ProgressSink& progress, const std::stop_token& stop)
    : encoder_(std::make_unique<PairEncoder>(std::move(tokenizers), options)),
      options_(options),
      texts_(parts_of(files)),
      aligned_(std::ranges::any_of(texts_, is_aligned)),
      pairs_of_texts_(texts_.size()) {
  core::require(options.tags_of_texts.empty() || options.tags_of_texts.size() == texts_.size(),
                ErrorCode::kInvalidArgument, "{} texts, but tags of {}", texts_.size(), options.tags_of_texts.size());
  Reading reading;
  std::optional<BlockIndex> index;
  Json identity;
  if (options.memory > 0) {
    identity = identity_of(texts_, options, *encoder_);
    reading.folder = folder_of_blocks(options.cache, identity);
    if (options.same_pipes || are_told_apart(texts_)) index = BlockStore::find(reading.folder, identity);
    if (index && !are_of_texts(index->blocks, texts_)) index.reset();
    if (!index) require_only_blocks(reading.folder);
  }
  if (!index) {
    read_all(reading, executor, progress, stop);
    fingerprint_ = hexadecimal(reading.hash);
    if (reading.writer) index = reading.writer->commit(identity, fingerprint_, counts_, lengths_);
  }
  if (index)
    take_blocks(std::move(*index), reading.folder);
  else
    take_pairs(reading);
  set_weights();
}

void Corpus::read_all(Reading& reading, core::Executor& executor, const core::ProgressSink& progress,
                      const std::stop_token& stop) {
  std::string names;
  for (reading.text = 0; reading.text < texts_.size(); ++reading.text)
    for (reading.file = 0; reading.file < texts_[reading.text].files.size(); ++reading.file) {
      reading.reader.emplace(texts_[reading.text].files[reading.file], stop);
      read_file(reading, executor, progress, stop);
      if (names.empty()) names = reading.reader->name();
      reading.close_block(options_);
    }
  std::uint64_t kept = 0;
  for (const std::uint64_t pairs : pairs_of_texts_) kept += pairs;
  core::require(
      kept > 0, ErrorCode::kBadInput,
      "{}: no usable pair among {} lines ({} empty, {} longer than {} tokens); check the files and data.maximum_length",
      names.empty() ? "data" : names, counts_.lines, counts_.empty, counts_.too_long, options_.maximum_length);
  core::require(kept <= UINT32_MAX || reading.writer, ErrorCode::kUnsupported,
                "{} pairs; at most 2^32 can be trained on in memory; set data.memory", kept);
}

void Corpus::read_file(Reading& reading, core::Executor& executor, const core::ProgressSink& progress,
                       const std::stop_token& stop) {
  corpus::PairReader& reader = *reading.reader;
  reading.first_line = 1;
  reading.aligned = is_aligned(texts_[reading.text]);
  corpus::ParsedPair pair;
  for (bool more = true; more;) {
    more = reader.next(pair);
    if (more) {
      reading.source.push_back(std::move(pair.source));
      reading.target.push_back(std::move(pair.target));
      if (reading.aligned) reading.alignment.push_back(std::move(pair.alignment));
    }
    if (reading.source.size() < kBlockLines && more) continue;
    encode_lines(reading, executor);
    core::report(progress, {.stage = "read", .done = counts_.lines, .unit = "lines", .figures = {}});
    core::require(!stop.stop_requested(), ErrorCode::kInterrupted, "interrupted while reading {}", reader.name());
  }
  const corpus::PairFile& file = texts_[reading.text].files[reading.file];
  core::require(reader.lines_read() > 0, ErrorCode::kBadInput, "{}: {}; no usable pair", reader.name(),
                file.format == corpus::PairFormat::kText ? "each has 0 lines" : "has 0 lines");
}

void Corpus::encode_lines(Reading& reading, core::Executor& executor) {
  std::vector<std::string>& source = reading.source;
  std::vector<std::string>& target = reading.target;
  std::vector<PairSequences> pairs(source.size());
  for (auto* side : {&source, &target})
    for (std::string& line : *side) {
      reading.hash = core::fingerprint_of_line(line, reading.hash);
      if (core::replace_invalid_utf8(line) > 0) ++counts_.invalid_text;
    }
  for (const std::string& line : reading.alignment) reading.hash = core::fingerprint_of_line(line, reading.hash);
  std::vector<std::string> problems(source.size());
  core::for_each_range(executor, static_cast<std::int64_t>(source.size()), kTaskLines,
                       [&](std::int64_t begin, std::int64_t end) {
                         for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                           encode_line(reading, i, pairs[i], problems[i]);
                       });
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (!problems[i].empty())
      core::fail(ErrorCode::kBadInput, "{}: {}", reading.reader->place_of_alignment(reading.first_line + i),
                 problems[i]);
    append_pair(reading, i, pairs[i]);
  }
  reading.first_line += source.size();
  source.clear();
  target.clear();
  reading.alignment.clear();
}

/// For a text without alignments, every error is an error of the tokenizer.
void Corpus::encode_line(const Reading& reading, std::size_t line, PairSequences& pair, std::string& problem) const {
  const PairLines lines = reading.lines(line);
  if (!lines.alignment) {
    pair = encoder_->encode(lines, reading.text);
    return;
  }
  try {
    pair = encoder_->encode(lines, reading.text);
  } catch (const core::Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
    problem = error.what();
  }
}

void Corpus::append_pair(Reading& reading, std::size_t line, const PairSequences& pair) {
  ++counts_.lines;
  EncodedBlock& block = reading.block;
  switch (add_pair(*encoder_, {encoder_->keeps_text(), aligned_}, reading.lines(line), pair, block)) {
    case PairFate::kEmpty:
      ++counts_.empty;
      return;
    case PairFate::kTooLong:
      ++counts_.too_long;
      return;
    case PairFate::kKept:
      break;
  }
  ++pairs_of_texts_[reading.text];
  ++lengths_.source[static_cast<std::int32_t>(pair.source.size())];
  ++lengths_.target[static_cast<std::int32_t>(pair.target.size())];
  if (block.size() == 1) reading.info = {.text = reading.text, .file = reading.file, .line = reading.first_line + line};
  if (options_.memory > 0 && block.bytes() >= options_.memory / kBlocksOfBudget) reading.close_block(options_);
}

/// Takes the pairs if everything fits into memory.
void Corpus::take_pairs(Reading& reading) {
  if (options_.memory == 0) reading.complete.emplace_back(std::move(reading.block), reading.info);
  for (auto& [block, info] : reading.complete) {
    if (pairs_.size() == 0) {
      pairs_.source = std::move(block.source);
      pairs_.target = std::move(block.target);
      source_text_ = std::move(block.source_text);
      target_text_ = std::move(block.target_text);
      pairs_.links = std::move(block.links);
      alignment_text_ = std::move(block.alignment_text);
      continue;
    }
    pairs_.source.append(block.source);
    pairs_.target.append(block.target);
    source_text_.append(block.source_text);
    target_text_.append(block.target_text);
    pairs_.links.append(block.links);
    alignment_text_.append(block.alignment_text);
    block = {};
  }
  size_ = pairs_.size();
  source_tokens_ = pairs_.source.total();
  target_tokens_ = pairs_.target.total();
}

void Corpus::take_blocks(BlockIndex index, const fs::path& folder) {
  counts_ = index.counts;
  lengths_ = index.lengths;
  fingerprint_ = index.fingerprint;
  std::ranges::fill(pairs_of_texts_, 0);
  for (const BlockInfo& block : index.blocks) {
    pairs_of_texts_.at(block.text) += block.pairs;
    size_ += block.pairs;
    source_tokens_ += block.source_tokens;
    target_tokens_ += block.target_tokens;
  }
  // Copies: the corpus may have been moved by then.
  const auto rebuild = [texts = texts_, encoder = PairEncoder(*encoder_), aligned = aligned_](const BlockInfo& info) {
    return make_anew(texts, encoder, {encoder.keeps_text(), aligned}, info);
  };
  blocks_ = std::make_unique<BlockStore>(folder, std::move(index), rebuild, options_.log);
}

void Corpus::set_weights() {
  const bool weighted = std::ranges::any_of(texts_, [](const CorpusPart& text) { return text.weight != 1; });
  if (options_.temperature != 1) {
    weights_ = weights_by_temperature(pairs_of_texts_, options_.temperature);
  } else if (weighted || options_.keep_parts) {
    for (const CorpusPart& text : texts_) weights_.push_back(text.weight);
  }
  std::size_t end = 0;
  for (std::size_t i = 0; i < weights_.size() && !on_disk(); ++i) {
    end += pairs_of_texts_[i];
    pairs_.parts.push_back({.end = end, .weight = weights_[i]});
  }
}

bool Corpus::draws() const noexcept {
  return encoder_->draws();
}

const formats::SequenceTags& Corpus::tags() const noexcept {
  return encoder_->tags_of(0);
}

const formats::SequenceTags& Corpus::tags_of(std::size_t pair) const noexcept {
  std::size_t text = 0;
  for (std::size_t end = pairs_of_texts_[0]; text + 1 < texts_.size() && pair >= end;) end += pairs_of_texts_[++text];
  return encoder_->tags_of(text);
}

EncodedPairs Corpus::drawn(std::int64_t epoch, core::Executor& executor, const std::stop_token& stop) const {
  const std::size_t pairs = pairs_.size();
  std::vector<PairSequences> drawn(pairs);
  std::vector<std::size_t> ends;
  for (const std::uint64_t count : pairs_of_texts_) ends.push_back((ends.empty() ? 0 : ends.back()) + count);
  core::for_each_range(
      executor, static_cast<std::int64_t>(pairs), kTaskLines, [&](std::int64_t begin, std::int64_t end) {
        core::require(!stop.stop_requested(), ErrorCode::kInterrupted, "interrupted while drawing segmentations");
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          const auto text = static_cast<std::size_t>(std::ranges::upper_bound(ends, i) - ends.begin());
          const bool aligned = is_aligned(texts_[text]);
          drawn[i] = encoder_->draw(
              lines_of(source_text_[i], target_text_[i], aligned ? alignment_text_[i] : "", aligned), text, epoch, i);
        }
      });
  EncodedPairs result;
  for (std::size_t i = 0; i < pairs; ++i) {
    append_drawn(*encoder_, drawn[i], {pairs_.source, pairs_.target, pairs_.links, i}, result);
    drawn[i] = {};
  }
  result.parts = pairs_.parts;
  return result;
}

std::size_t Corpus::blocks() const noexcept {
  return blocks_ ? blocks_->blocks().size() : 0;
}
std::size_t Corpus::text_of_block(std::size_t block) const noexcept {
  return blocks_->blocks()[block].text;
}
std::uint64_t Corpus::pairs_of_block(std::size_t block) const noexcept {
  return blocks_->blocks()[block].pairs;
}

void Corpus::append_block(std::size_t block, std::int64_t epoch, EncodedPairs& pairs,
                          const std::stop_token& stop) const {
  const EncodedBlock loaded = blocks_->load(block);
  if (!draws()) {
    pairs.source.append(loaded.source);
    pairs.target.append(loaded.target);
    pairs.links.append(loaded.links);
    return;
  }
  const BlockInfo& info = blocks_->blocks()[block];
  const bool aligned = is_aligned(texts_[info.text]);
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    core::require(!stop.stop_requested(), ErrorCode::kInterrupted, "interrupted while drawing segmentations");
    const PairLines lines =
        lines_of(loaded.source_text[i], loaded.target_text[i], aligned ? loaded.alignment_text[i] : "", aligned);
    append_drawn(*encoder_, encoder_->draw(lines, info.text, epoch, info.first_pair + i),
                 {loaded.source, loaded.target, loaded.links, i}, pairs);
  }
}

}  // namespace dragoman::training
