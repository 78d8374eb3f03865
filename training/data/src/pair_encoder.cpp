#include "pair_encoder.h"

#include "data/random_streams.h"

#include <algorithm>
#include <span>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>
#include <dragoman/core/text_range.h>
#include <dragoman/core/white_space.h>
#include <dragoman/corpus/word_alignment.h>
#include <dragoman/tokenizer/words_of_pieces.h>

namespace dragoman::training {
namespace {

using tokenizer::EncodeOptions;
using tokenizer::EncodingMode;

/// Returns the 64-bit seed of the draws of one epoch and one side.
std::uint64_t draw_seed(std::uint64_t seed, std::int64_t epoch, std::uint64_t side) {
  const core::RandomBlock block =
      core::random_block(seed, random_streams::kSegmentation + side, static_cast<std::uint64_t>(epoch));
  return (std::uint64_t{block[1]} << 32) | block[0];
}

EncodingMode mode_of(const CorpusOptions& options) {
  if (options.bpe_dropout > 0) return EncodingMode::kDropout;
  return options.subword_sampling.on ? EncodingMode::kSample : EncodingMode::kExact;
}

/// Returns an empty sequence if there are no ids.
std::vector<std::int32_t> framed(std::vector<std::int32_t> ids, const SequenceFrame& frame) {
  if (ids.empty()) return ids;
  ids.insert(ids.begin(), frame.prefix.begin(), frame.prefix.end());
  if (frame.end) ids.push_back(*frame.end);
  ids.insert(ids.end(), frame.suffix.begin(), frame.suffix.end());
  return ids;
}

std::vector<std::int32_t> ids_of(const std::vector<tokenizer::Piece>& pieces) {
  std::vector<std::int32_t> ids;
  for (const tokenizer::Piece& piece : pieces) ids.push_back(piece.id);
  return ids;
}

/// Returns the indices of the pieces of each unit that links refer to.
std::vector<std::vector<std::int32_t>> places_of_units(std::string_view line,
                                                       const std::vector<tokenizer::Piece>& pieces,
                                                       AlignmentUnits units, std::size_t prefix) {
  std::vector<std::vector<std::int32_t>> places;
  const auto place = [prefix](std::size_t piece) { return static_cast<std::int32_t>(prefix + piece); };
  if (units == AlignmentUnits::kPieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) places.push_back({place(i)});
    return places;
  }
  const std::vector<core::TextRange> words = corpus::words_of(line);
  const std::vector<core::TextRange> words_at = tokenizer::words_of_pieces(pieces, words);
  places.resize(words.size());
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (std::size_t word = words_at[i].begin; word < words_at[i].end; ++word) places[word].push_back(place(i));
  return places;
}

}  // namespace

PairEncoder::PairEncoder(TokenizerPair tokenizers, const CorpusOptions& options)
    : tokenizers_(std::move(tokenizers)), options_(options), mode_(mode_of(options)) {
  if (draws()) require_draws();
}

/// Reports a tokenizer that cannot draw before hours of reading.
void PairEncoder::require_draws() const {
  for (const auto* tokenizer : {tokenizers_.source.get(), tokenizers_.target.get()}) {
    try {
      tokenizer->encode("a", draw(0, 0, 0));
    } catch (const core::Error& error) {
      const bool dropout = mode_ == EncodingMode::kDropout;
      core::fail(core::ErrorCode::kBadInput, "data.{}: {}; {}", dropout ? "bpe_dropout" : "subword_regularization",
                 error.what(),
                 dropout ? "a unigram tokenizer has data.subword_regularization in its place"
                         : "a tokenizer with merges has data.bpe_dropout in its place");
    }
  }
}

EncodeOptions PairEncoder::draw(std::int64_t epoch, std::uint64_t side, std::uint64_t number) const {
  EncodeOptions options{.mode = mode_, .dropout = options_.bpe_dropout};
  options.alpha = options_.subword_sampling.alpha;
  options.n_best = options_.subword_sampling.n_best;
  options.seed = draw_seed(options_.seed, epoch, side);
  options.line = number;
  return options;
}

PairSequences PairEncoder::draw(const PairLines& lines, std::size_t text, std::int64_t epoch,
                                std::uint64_t number) const {
  return encode(lines, text, draw(epoch, 0, number), draw(epoch, 1, number));
}

PairSequences PairEncoder::encode(const PairLines& lines, std::size_t text, const EncodeOptions& source_options,
                                  const EncodeOptions& target_options) const {
  if (core::is_blank(lines.source) || core::is_blank(lines.target)) return {};
  const formats::SequenceTags& tags = tags_of(text);
  const SequenceFrame source_frame{tags.source_prefix, tags.source_end ? std::optional(options_.end) : std::nullopt,
                                   tags.source_suffix};
  const SequenceFrame target_frame{tags.target_prefix, options_.end, {}};
  if (!lines.alignment)
    return {.source = framed(tokenizers_.source->encode(lines.source, source_options), source_frame),
            .target = framed(tokenizers_.target->encode(lines.target, target_options), target_frame)};
  return encode_aligned(lines, source_frame, target_frame, source_options, target_options);
}

PairSequences PairEncoder::encode_aligned(const PairLines& lines, const SequenceFrame& source_frame,
                                          const SequenceFrame& target_frame, const EncodeOptions& source_options,
                                          const EncodeOptions& target_options) const {
  const std::vector<tokenizer::Piece> source = tokenizers_.source->encode_pieces(lines.source, source_options);
  const std::vector<tokenizer::Piece> target = tokenizers_.target->encode_pieces(lines.target, target_options);
  PairSequences result{.source = framed(ids_of(source), source_frame), .target = framed(ids_of(target), target_frame)};
  const auto sources = places_of_units(lines.source, source, options_.alignment_units, source_frame.prefix.size());
  const auto targets = places_of_units(lines.target, target, options_.alignment_units, target_frame.prefix.size());
  const corpus::Links units = corpus::parse_pharaoh(*lines.alignment, static_cast<std::int64_t>(sources.size()),
                                                    static_cast<std::int64_t>(targets.size()));
  // Links of a pair that is too long are not used, and endless words would have endless numbers of them.
  if (is_too_long(result)) return result;
  std::vector<std::pair<std::int32_t, std::int32_t>> links;
  for (const corpus::Link& link : units)
    for (const std::int32_t to : targets[static_cast<std::size_t>(link.target)])
      for (const std::int32_t from : sources[static_cast<std::size_t>(link.source)]) links.emplace_back(to, from);
  std::ranges::sort(links);
  links.erase(std::unique(links.begin(), links.end()), links.end());
  for (const auto& [to, from] : links) result.links.insert(result.links.end(), {to, from});
  return result;
}

}  // namespace dragoman::training
