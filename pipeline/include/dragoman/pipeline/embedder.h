#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/decoding/inner_states.h>
#include <dragoman/pipeline/scorer.h>
#include <dragoman/plugins/host.h>

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
  /// Lines of more tokens than the model takes: the first ones that it takes, in place of an error.
  bool cut_long_lines = false;
  /// As TranslateOptions'.
  int threads = 0;
  tensor::Device device = tensor::Device::kCpu;
  std::optional<tensor::ComputeChoice> compute{};
  bool allow_non_finite = false;
};

struct LineEmbedding {
  /// [layers][tokens][width]; with pooling, of one token.
  decoding::TokenStates states{};
  /// What the rows are of: the source's pieces and the end; of the decoder the start and the target's pieces.
  std::vector<std::string> pieces{};
};

/// The states of a trained model's encoder as embeddings of text; or those of its decoder, before they are projected to
/// the vocabulary, when it reads given targets.
///
///     dragoman::pipeline::Embedder embedder("models/de-en", host);
///     const auto vectors = embedder.embed({{"Guten Morgen!", "", "greeting"}});
///
/// Calls from any number of threads share its workers. Making one may load a plugin into the host: see Translator.
class Embedder {
 public:
  /// The host must outlive the embedder.
  Embedder(const std::filesystem::path& model_folder, plugins::Host& host, const EmbedderOptions& options = {});
  ~Embedder();
  Embedder(Embedder&&) noexcept;
  Embedder& operator=(Embedder&&) noexcept;

  /// One result per line, in order; targets are read for the decoder's states only. A line's result depends on nothing
  /// but the line. Error{kBadInput} that says where, if a line has more tokens than the model takes;
  /// Error{kInterrupted} if `stop` asks.
  std::vector<LineEmbedding> embed(std::vector<LinePair> lines, const std::stop_token& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
