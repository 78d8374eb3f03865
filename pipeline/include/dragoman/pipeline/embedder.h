#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/decoding/inner_states.h>
#include <dragoman/pipeline/scorer.h>

namespace dragoman::pipeline {

/// How the states of a line's tokens are combined into one vector. The tokens include the closing end, or for the
/// decoder the start.
enum class Pooling : std::uint8_t {
  kNone,   ///< not combined
  kMean,   ///< the mean
  kFirst,  ///< the state of the first token
  kMax,    ///< the maximum of each element
};

struct EmbedderOptions {
  Pooling pooling = Pooling::kMean;
  decoding::StatesRequest states{};
  LongLines long_lines = LongLines::kFail;
};

struct LineEmbedding {
  /// [layers][tokens][width]. With pooling, there is one token.
  decoding::TokenStates states{};
  /// The pieces of the rows: the source's pieces and the end, or for the decoder the start and the target's pieces.
  std::vector<std::string> pieces{};
  bool cut = false;     ///< with LongLines::kCut, whether tokens were left out
  std::string error{};  ///< with LongLines::kSkip, the reason why there are no states; otherwise empty
};

/// Computes embeddings of text from the states of a trained model's encoder. Alternatively from the states of its
/// decoder, before the projection to the vocabulary, while it reads given targets.
///
///     const Model model("models/de-en");
///     Embedder embedder(model);
///     const auto vectors = embedder.embed({{"Guten Morgen!", "", "greeting"}});
///
/// Calls from any number of threads share the model's workers. Error{kUnsupported} for an ensemble.
class Embedder {
 public:
  explicit Embedder(const Model& model, const EmbedderOptions& options = {});
  ~Embedder();
  Embedder(Embedder&&) noexcept;
  Embedder& operator=(Embedder&&) noexcept;

  /// Returns one result per line, in order. Targets are read only for the decoder's states. The result of a line
  /// depends on nothing but the line. EmbedderOptions::long_lines decides about lines with more tokens than the model
  /// supports. Error{kInterrupted} after a stop request.
  std::vector<LineEmbedding> embed(std::vector<LinePair> lines, const std::stop_token& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
