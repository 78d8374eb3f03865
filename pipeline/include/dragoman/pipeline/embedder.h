#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/decoding/inner_states.h>
#include <dragoman/pipeline/scorer.h>

namespace dragoman::pipeline {

/// How the states of a line's tokens, its closing end (or the decoder's start) included, become one vector.
enum class Pooling : std::uint8_t {
  kNone,   ///< they do not
  kMean,   ///< the mean
  kFirst,  ///< the first token's
  kMax,    ///< the greatest number of each column
};

struct EmbedderOptions {
  Pooling pooling = Pooling::kMean;
  decoding::StatesRequest states{};
  LongLines long_lines = LongLines::kFail;
};

struct LineEmbedding {
  /// [layers][tokens][width]; with pooling, of one token.
  decoding::TokenStates states{};
  /// What the rows are of: the source's pieces and the end; of the decoder the start and the target's pieces.
  std::vector<std::string> pieces{};
  bool cut = false;     ///< with LongLines::kCut, whether tokens were left out
  std::string error{};  ///< with LongLines::kSkip, the reason why there are no states; otherwise empty
};

/// The states of a trained model's encoder as embeddings of text; or those of its decoder, before they are projected to
/// the vocabulary, when it reads given targets.
///
///     dragoman::pipeline::Embedder embedder(model);
///     const auto vectors = embedder.embed({{"Guten Morgen!", "", "greeting"}});
///
/// Calls from any number of threads share the model's workers. Error{kUnsupported} for an ensemble.
class Embedder {
 public:
  explicit Embedder(const Model& model, const EmbedderOptions& options = {});
  ~Embedder();
  Embedder(Embedder&&) noexcept;
  Embedder& operator=(Embedder&&) noexcept;

  /// One result per line, in order; targets are read for the decoder's states only. A line's result depends on nothing
  /// but the line. EmbedderOptions::long_lines decides about lines of more tokens than the model takes.
  /// Error{kInterrupted} if `stop` asks.
  std::vector<LineEmbedding> embed(std::vector<LinePair> lines, const std::stop_token& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
