#include "dragoman/dragoman.h"

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/pipeline/aligner.h>
#include <dragoman/pipeline/embedder.h>
#include <dragoman/pipeline/scorer.h>

namespace dragoman {
namespace {

std::vector<pipeline::LinePair> line_pairs(const std::vector<SentencePair>& pairs) {
  std::vector<pipeline::LinePair> lines;
  for (const SentencePair& pair : pairs)
    lines.push_back({.source = pair.source, .target = pair.target, .where = fmt::format("pair {}", lines.size() + 1)});
  return lines;
}

std::vector<pipeline::LinePair> line_pairs(const std::vector<std::string>& texts) {
  std::vector<pipeline::LinePair> lines;
  for (const std::string& text : texts)
    lines.push_back({.source = text, .target = {}, .where = fmt::format("text {}", lines.size() + 1)});
  return lines;
}

pipeline::Pooling pooling_of(Pooling pooling) {
  switch (pooling) {
    case Pooling::kMean:
      return pipeline::Pooling::kMean;
    case Pooling::kFirst:
      return pipeline::Pooling::kFirst;
    case Pooling::kMax:
      return pipeline::Pooling::kMax;
  }
  core::fail(ErrorCode::kInvalidArgument, "pooling is {}, which is no Pooling", static_cast<int>(pooling));
}

pipeline::EmbedderOptions embedder_options(const EmbedderOptions& options, pipeline::Pooling pooling) {
  pipeline::EmbedderOptions result{
      .pooling = pooling,
      .long_lines = options.cut_long_texts ? pipeline::LongLines::kCut : pipeline::LongLines::kFail};
  if (options.layer) result.states = {.final_states = false, .layers = {*options.layer}};
  return result;
}

pipeline::AlignerOptions aligner_options(const AlignerOptions& options) {
  const core::Json said{{"symmetrize", options.symmetrize}, {"threshold", options.threshold}};
  core::OptionReader reader(said, "aligner");
  pipeline::AlignerOptions result{.reverse_model = options.reverse_model};
  pipeline::alignment_table().read(reader, result.alignment);
  result.alignment.unit = options.tokens ? pipeline::AlignmentUnit::kPieces : pipeline::AlignmentUnit::kWords;
  result.alignment.layer = options.layer;
  return result;
}

}  // namespace

struct Scorer::Impl {
  pipeline::Scorer scorer;
};

Scorer::Scorer(const Model& model, const ScorerOptions& options)
    : impl_(new Impl{pipeline::Scorer(
          model, {.length_penalty = decoding::LengthPenalty::preset(options.length_penalty, options.alpha),
                  .languages = {options.source_language, options.target_language}})}) {}

Score Scorer::score(std::string_view source, std::string_view target) const {
  return std::move(score_batch({{std::string(source), std::string(target)}}).front());
}

std::vector<Score> Scorer::score_batch(const std::vector<SentencePair>& pairs, const std::stop_token& stop) const {
  std::vector<Score> scores;
  for (pipeline::LineScore& line : impl_->scorer.score(line_pairs(pairs), stop))
    scores.push_back(
        {line.score, line.log_probability, std::move(line.pieces), std::move(line.token_log_probabilities)});
  return scores;
}

struct Embedder::Impl {
  pipeline::Embedder pooled;
  pipeline::Embedder of_tokens;
};

Embedder::Embedder(const Model& model, const EmbedderOptions& options)
    : impl_(new Impl{pipeline::Embedder(model, embedder_options(options, pooling_of(options.pooling))),
                     pipeline::Embedder(model, embedder_options(options, pipeline::Pooling::kNone))}) {}

std::vector<float> Embedder::embed(std::string_view text) const {
  return std::move(embed_batch({std::string(text)}).front());
}

std::vector<std::vector<float>> Embedder::embed_batch(const std::vector<std::string>& texts,
                                                      const std::stop_token& stop) const {
  std::vector<std::vector<float>> vectors;
  for (pipeline::LineEmbedding& line : impl_->pooled.embed(line_pairs(texts), stop))
    vectors.push_back(std::move(line.states.values));
  return vectors;
}

TokenVectors Embedder::embed_tokens(std::string_view text) const {
  pipeline::LineEmbedding line =
      std::move(impl_->of_tokens.embed(line_pairs(std::vector<std::string>{std::string(text)})).front());
  return {std::move(line.pieces), static_cast<std::size_t>(line.states.width), std::move(line.states.values)};
}

struct Aligner::Impl {
  pipeline::Aligner aligner;
};

Aligner::Aligner(const Model& model, const AlignerOptions& options)
    : impl_(new Impl{pipeline::Aligner(model, aligner_options(options))}) {}

Alignment Aligner::align(std::string_view source, std::string_view target) const {
  return std::move(align_batch({{std::string(source), std::string(target)}}).front());
}

std::vector<Alignment> Aligner::align_batch(const std::vector<SentencePair>& pairs, const std::stop_token& stop) const {
  std::vector<Alignment> alignments;
  for (pipeline::PairAlignment& pair : impl_->aligner.align(line_pairs(pairs), stop)) {
    core::require(pair.error.empty(), ErrorCode::kBadInput, "{}", pair.error);
    Alignment& alignment = alignments.emplace_back();
    for (const corpus::Link& link : pair.links) alignment.links.push_back({link.source, link.target});
    alignment.source = std::move(pair.source);
    alignment.target = std::move(pair.target);
  }
  return alignments;
}

}  // namespace dragoman
