#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/core/option_table.h>
#include <dragoman/corpus/word_alignment.h>
#include <dragoman/pipeline/alignment_weights.h>
#include <dragoman/pipeline/scorer.h>

namespace dragoman::pipeline {

/// The units that are aligned.
enum class AlignmentUnit : std::uint8_t { kWords, kPieces };

/// The decoder step whose attention aligns a target token.
enum class AlignmentStep : std::uint8_t {
  kOutput,  ///< the step that predicts the token; guided alignment trains this one
  kInput,   ///< the step that reads the token (Chen et al. 2020, "Accurate word alignment induction from neural machine
            ///< translation"); better in some layers of some models
};

/// How links follow from attention. The table has the keys `layer`, `heads` and so on.
struct AlignmentSettings {
  AlignmentUnit unit = AlignmentUnit::kWords;
  /// The layer and the heads whose mean attention is used. Unset: the attention that the model declares as its
  /// alignment.
  std::optional<int> layer{};  ///< from 0; negative values count from the last layer
  std::vector<int> heads{};    ///< heads of that layer; empty: all
  AlignmentStep step = AlignmentStep::kOutput;
  /// Whether the decoder sees the whole target instead of the preceding tokens only. For models that were trained to
  /// align this way.
  bool full_context = false;
  /// If greater than 0, all links of at least this weight instead of the best link of each unit.
  double threshold = 0;
  /// For two models: how their alignments are combined.
  corpus::Symmetrization symmetrization = corpus::Symmetrization::kGrowDiagFinalAnd;
};
const core::OptionTable<AlignmentSettings>& alignment_table();
/// Error{kBadInput} naming an option that requires another one.
void check(const AlignmentSettings& settings, const core::OptionReader& options);

struct AlignerOptions {
  AlignmentSettings alignment{};
  /// A model that translates the target into the source, for alignments in both directions.
  std::optional<Model> reverse_model{};
};

struct PairAlignment {
  corpus::Links links{};
  /// The units (words or pieces) that the indices of `links` refer to.
  std::vector<std::string> source{};
  std::vector<std::string> target{};
  /// [target units][source units]: the attention of the model. The rest of each row belongs to the end of the source,
  /// which is not a unit.
  AlignmentWeights weights{};
  /// [source units][target units]: the attention of the reverse model, if there is one.
  std::optional<AlignmentWeights> reverse_weights{};
  /// The reason why there is no alignment: the pair has more tokens than a model supports. Otherwise empty.
  std::string error{};
};

/// Returns {"alignment": [[source, target, weight], ..], "source": [..], "target": [..], "weights": [[..], ..]}, and
/// "reverse_weights" if there is a reverse model. The weight of a link is the weight in the model, or the mean of both
/// models.
core::Json to_json(const PairAlignment& alignment);

/// Computes word alignments by forced decoding, from the attention while the model reads both sides.
///
///     const Model model("models/de-en");
///     Aligner aligner(model);
///     const auto links = aligner.align({{"Guten Morgen !", "Good morning !", "greeting"}}).front().links;
///
/// Calls from any number of threads share the models' workers. Error{kUnsupported} for an ensemble.
class Aligner {
 public:
  explicit Aligner(const Model& model, const AlignerOptions& options = {});
  ~Aligner();
  Aligner(Aligner&&) noexcept;
  Aligner& operator=(Aligner&&) noexcept;

  /// Returns one alignment per pair, in order. An empty side has no links. Error{kInvalidArgument} for a layer or head
  /// that a model does not have. Error{kUnsupported} if the options name no layer and the model declares no alignment.
  /// Error{kInterrupted} after a stop request.
  std::vector<PairAlignment> align(std::vector<LinePair> pairs, const std::stop_token& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
