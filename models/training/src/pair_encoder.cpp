#include "pair_encoder.h"

#include <span>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>

namespace dragoman::training {
namespace {

using tokenizer::EncodeOptions;
using tokenizer::EncodingMode;

/// What stands around the tokens of one side's lines.
struct Frame {
  std::span<const std::int32_t> prefix;
  std::int32_t end;
  std::span<const std::int32_t> suffix;
};

/// The 64-bit seed of one epoch's draws of one side.
std::uint64_t draw_seed(std::uint64_t seed, std::int64_t epoch, std::uint64_t side) {
  constexpr std::uint64_t kStream = 0x6270652D64726F70U;
  const core::RandomBlock block = core::random_block(seed, kStream + side, static_cast<std::uint64_t>(epoch));
  return (std::uint64_t{block[1]} << 32) | block[0];
}

EncodingMode mode_of(const CorpusOptions& options) {
  if (options.bpe_dropout > 0) return EncodingMode::kDropout;
  return options.subword_sampling.on ? EncodingMode::kSample : EncodingMode::kExact;
}

std::vector<std::int32_t> encode_line(const tokenizer::Tokenizer& tokenizer, std::string_view line, const Frame& frame,
                                      const EncodeOptions& options) {
  std::vector<std::int32_t> ids = tokenizer.encode(line, options);
  if (ids.empty()) return ids;
  ids.insert(ids.begin(), frame.prefix.begin(), frame.prefix.end());
  ids.push_back(frame.end);
  ids.insert(ids.end(), frame.suffix.begin(), frame.suffix.end());
  return ids;
}

}  // namespace

PairEncoder::PairEncoder(TokenizerPair tokenizers, const CorpusOptions& options)
    : tokenizers_(std::move(tokenizers)), options_(options), mode_(mode_of(options)) {
  if (draws()) require_draws();
}

/// Before hours of reading: who cannot draw says so.
void PairEncoder::require_draws() const {
  for (const auto* tokenizer : {tokenizers_.source.get(), tokenizers_.target.get()}) {
    try {
      tokenizer->encode("a", draw(0, 0));
    } catch (const core::Error& error) {
      const bool dropout = mode_ == EncodingMode::kDropout;
      core::fail(core::ErrorCode::kBadInput, "data.{}: {}; {}", dropout ? "bpe_dropout" : "subword_regularization",
                 error.what(),
                 dropout ? "a unigram tokenizer has data.subword_regularization in its place"
                         : "a tokenizer with merges has data.bpe_dropout in its place");
    }
  }
}

EncodeOptions PairEncoder::draw(std::int64_t epoch, std::uint64_t side) const {
  EncodeOptions options{.mode = mode_, .dropout = options_.bpe_dropout};
  options.alpha = options_.subword_sampling.alpha;
  options.n_best = options_.subword_sampling.n_best;
  options.seed = draw_seed(options_.seed, epoch, side);
  return options;
}

std::vector<std::int32_t> PairEncoder::source(std::string_view line, std::size_t text) const {
  return source(line, text, {});
}

std::vector<std::int32_t> PairEncoder::target(std::string_view line, std::size_t text) const {
  return target(line, text, {});
}

std::vector<std::int32_t> PairEncoder::source(std::string_view line, std::size_t text,
                                              const EncodeOptions& options) const {
  const formats::SequenceTags& tags = tags_of(text);
  return encode_line(*tokenizers_.source, line, {tags.source_prefix, options_.end, tags.source_suffix}, options);
}

std::vector<std::int32_t> PairEncoder::target(std::string_view line, std::size_t text,
                                              const EncodeOptions& options) const {
  return encode_line(*tokenizers_.target, line, {tags_of(text).target_prefix, options_.end, {}}, options);
}

}  // namespace dragoman::training
