#include "dragoman/pipeline/aligner.h"

#include "forced_pair.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/words_of_pieces.h>

namespace dragoman::pipeline {
namespace {

using tokenizer::Piece;

/// One side of a pair, cut into the units of the alignment.
struct AlignedSide {
  std::vector<TextRange> units_of_pieces;
  std::vector<std::string> units;
};

AlignedSide read_side(const tokenizer::Tokenizer& tokenizer, const std::string& text, AlignmentUnit unit) {
  const std::vector<Piece> pieces = tokenizer.encode_pieces(text);
  AlignedSide side;
  if (unit == AlignmentUnit::kPieces) {
    for (const Piece& piece : pieces) {
      side.units_of_pieces.push_back({side.units.size(), side.units.size() + 1});
      side.units.emplace_back(tokenizer.piece(piece.id));
    }
    return side;
  }
  const std::vector<TextRange> words = corpus::words_of(text);
  side.units_of_pieces = tokenizer::words_of_pieces(pieces, words);
  for (const TextRange& word : words) side.units.push_back(text.substr(word.begin, word.end - word.begin));
  return side;
}

decoding::InnerStatesRequest inner_request(const AlignmentSettings& settings) {
  decoding::AttentionRequest request{.kind = decoding::AttentionKind::kCross, .full_context = settings.full_context};
  request.of_model = !settings.layer;
  if (settings.layer) {
    request.layers = {*settings.layer};
    request.heads = settings.heads;
    request.mean = true;
  }
  return {.attention = std::move(request)};
}

/// Copies the weights from target pieces to source pieces, whose numbers `weights` has: without the row of the end (or
/// of the start), the column of the source's end, and the rows and columns of tags.
void copy_weights_of_pieces(const decoding::AttentionMaps& maps, const formats::SequenceTags& tags, AlignmentStep step,
                            AlignmentWeights& weights) {
  const auto first_row = static_cast<std::int64_t>(tags.target_prefix.size()) + (step == AlignmentStep::kInput ? 1 : 0);
  const auto first_col = static_cast<std::int64_t>(tags.source_prefix.size());
  for (std::int64_t row = 0; row < weights.rows; ++row)
    for (std::int64_t col = 0; col < weights.cols; ++col)
      weights.values.push_back(maps.at(0, 0, row + first_row, col + first_col));
}

/// A model that reads pairs in one direction.
class Direction {
 public:
  explicit Direction(const Model& model) : model_(model) {}

  ModelView view() const { return model_.view(); }

  /// Stores the weights of each pair that has both sides, or the reason why there are none if a pair is too long.
  void attend(std::vector<LinePair>& pairs, const AlignmentSettings& settings, std::vector<AlignmentWeights>& weights,
              std::vector<std::string>& errors, const std::stop_token& stop) {
    const decoding::InnerStatesRequest inner = inner_request(settings);
    const formats::SequenceTags tags = model_.view().tags();
    engine::Client client(model_.engine());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (!errors[i].empty()) continue;
      ForcedPair forced = forced_pair(model_.view(), pairs[i], LongLines::kSkip);
      errors[i] = std::move(forced.error);
      if (!errors[i].empty()) continue;
      engine::ScoreRequest request = std::move(forced.request);
      weights[i] = {static_cast<std::int64_t>(request.target.size() - tags.target_prefix.size()),
                    static_cast<std::int64_t>(request.source.size() - tags.of_source() - (tags.source_end ? 1 : 0)),
                    {}};
      if (weights[i].rows == 0 || weights[i].cols == 0) continue;
      request.scored = false;
      request.inner = inner;
      request.stop = stop;
      client.submit(std::move(request), [&place = weights[i], &settings, &tags](engine::ScoreResult result) {
        if (result.error) std::rethrow_exception(result.error);
        copy_weights_of_pieces(result.inner.attention, tags, settings.step, place);
      });
    }
    client.wait();
  }

 private:
  Model model_;
};

/// Converts weights of pieces to weights of units; the side of the rows comes first.
AlignmentWeights weights_of_units(const AlignmentWeights& pieces, const AlignedSide& rows, const AlignedSide& cols) {
  core::require(pieces.rows == static_cast<std::int64_t>(rows.units_of_pieces.size()) &&
                    pieces.cols == static_cast<std::int64_t>(cols.units_of_pieces.size()),
                core::ErrorCode::kInternal, "attention of {} to {} tokens, but there are {} and {} pieces", pieces.rows,
                pieces.cols, rows.units_of_pieces.size(), cols.units_of_pieces.size());
  return join_pieces(pieces, rows.units_of_pieces, rows.units.size(), cols.units_of_pieces, cols.units.size());
}

}  // namespace

struct Aligner::Impl {
  Impl(const Model& model, const AlignerOptions& aligner_options) : options(aligner_options), forward(model) {
    if (options.reverse_model) backward.emplace(*options.reverse_model);
  }

  void align_forward(const LinePair& pair, const AlignmentWeights& pieces, PairAlignment& result) const {
    const AlignmentUnit unit = options.alignment.unit;
    const AlignedSide source = read_side(*forward.view().source_tokenizer, pair.source, unit);
    const AlignedSide target = read_side(*forward.view().target_tokenizer, pair.target, unit);
    result.source = source.units;
    result.target = target.units;
    if (pieces.values.empty()) return;
    result.weights = weights_of_units(pieces, target, source);
    for (const auto& [row, col] : strongest(result.weights, options.alignment.threshold))
      result.links.push_back({static_cast<std::int32_t>(col), static_cast<std::int32_t>(row)});
    std::ranges::sort(result.links);
  }

  /// The reverse model may have different pieces, so the models share words. They share pieces only if their tokenizers
  /// agree.
  void add_backward(const LinePair& swapped, const AlignmentWeights& pieces, PairAlignment& result) const {
    const AlignmentUnit unit = options.alignment.unit;
    const AlignedSide target = read_side(*backward->view().source_tokenizer, swapped.source, unit);
    const AlignedSide source = read_side(*backward->view().target_tokenizer, swapped.target, unit);
    core::require(source.units == result.source && target.units == result.target, core::ErrorCode::kBadInput,
                  "{}: the model and the reverse model cut this text into different pieces; align words, or use models "
                  "of the same tokenizers",
                  swapped.where);
    if (pieces.values.empty()) return;
    result.reverse_weights = weights_of_units(pieces, source, target);
    corpus::Links links;
    for (const auto& [row, col] : strongest(*result.reverse_weights, options.alignment.threshold))
      links.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(col)});
    std::ranges::sort(links);
    result.links = corpus::symmetrize(result.links, links, options.alignment.symmetrization);
  }

  AlignerOptions options;
  Direction forward;
  std::optional<Direction> backward;
};

Aligner::Aligner(const Model& model, const AlignerOptions& options) : impl_(std::make_unique<Impl>(model, options)) {}
Aligner::~Aligner() = default;
Aligner::Aligner(Aligner&&) noexcept = default;
Aligner& Aligner::operator=(Aligner&&) noexcept = default;

std::vector<PairAlignment> Aligner::align(std::vector<LinePair> pairs, const std::stop_token& stop) {
  const AlignmentSettings& settings = impl_->options.alignment;
  std::vector<PairAlignment> results(pairs.size());
  std::vector<std::string> errors(pairs.size());
  std::vector<AlignmentWeights> forward(pairs.size());
  std::vector<AlignmentWeights> backward(pairs.size());
  impl_->forward.attend(pairs, settings, forward, errors, stop);
  std::vector<LinePair> swapped;
  if (impl_->backward) {
    for (const LinePair& pair : pairs) swapped.push_back({pair.target, pair.source, pair.where});
    impl_->backward->attend(swapped, settings, backward, errors, stop);
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    results[i].error = std::move(errors[i]);
    if (!results[i].error.empty()) continue;
    impl_->align_forward(pairs[i], forward[i], results[i]);
    if (impl_->backward) impl_->add_backward(swapped[i], backward[i], results[i]);
  }
  return results;
}

}  // namespace dragoman::pipeline
