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

/// What is aligned.
enum class AlignmentUnit : std::uint8_t { kWords, kPieces };

/// Whose attention tells what a target token is aligned to.
enum class AlignmentStep : std::uint8_t {
  kOutput,  ///< of the step that predicts it: what guided alignment trains
  kInput,   ///< of the step that reads it (Chen et al. 2020, "Accurate word alignment induction from neural machine
            ///< translation"): better in some layers of some models
};

/// How links follow from attention. The table has the keys `layer`, `heads` and so on.
struct AlignmentSettings {
  AlignmentUnit unit = AlignmentUnit::kWords;
  /// Layer and heads; unset: what the model names as its alignment. The mean of the heads counts.
  std::optional<int> layer{};  ///< from 0; negative ones count from the last
  std::vector<int> heads{};    ///< of that layer; empty: all of them
  AlignmentStep step = AlignmentStep::kOutput;
  /// The decoder sees the whole target, not only what is before a token: for models that were trained to align so.
  bool full_context = false;
  /// Above 0: all links of at least this weight in place of the best of every unit.
  double threshold = 0;
  /// With a reverse model.
  corpus::Symmetrization symmetrization = corpus::Symmetrization::kGrowDiagFinalAnd;
};
const core::OptionTable<AlignmentSettings>& alignment_table();
/// Error{kBadInput} that names the option which makes no sense without another.
void check(const AlignmentSettings& settings, const core::OptionReader& options);

struct AlignerOptions {
  AlignmentSettings alignment{};
  /// A model that translates the target into the source, for alignments in both directions.
  std::optional<Model> reverse_model{};
};

struct PairAlignment {
  corpus::Links links{};
  /// What links number: words or pieces.
  std::vector<std::string> source{};
  std::vector<std::string> target{};
  /// [target units][source units]: attention of the model. The source's end, which is no unit, has the rest.
  AlignmentWeights weights{};
  /// [source units][target units]: that of the reverse model, if there is one.
  std::optional<AlignmentWeights> reverse_weights{};
  /// Why there is no alignment: the pair has more tokens than a model takes. Else empty.
  std::string error{};
};

/// {"alignment": [[source, target, weight], ..], "source": [..], "target": [..], "weights": [[..], ..]} with
/// "reverse_weights" of two models. The weight of a link is the model's, or the mean of both models'.
core::Json to_json(const PairAlignment& alignment);

/// Word alignments out of forced decoding: who attends to what while the model reads both sides.
///
///     dragoman::pipeline::Aligner aligner(model);
///     const auto links = aligner.align({{"Guten Morgen !", "Good morning !", "greeting"}}).front().links;
///
/// Calls from any number of threads share the models' workers. Error{kUnsupported} for an ensemble.
class Aligner {
 public:
  explicit Aligner(const Model& model, const AlignerOptions& options = {});
  ~Aligner();
  Aligner(Aligner&&) noexcept;
  Aligner& operator=(Aligner&&) noexcept;

  /// One alignment per pair, in order. An empty side has no links. Error{kInvalidArgument} for a layer or head that a
  /// model does not have, Error{kUnsupported} if none is named and the model names none either, Error{kInterrupted} if
  /// `stop` asks.
  std::vector<PairAlignment> align(std::vector<LinePair> pairs, const std::stop_token& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
