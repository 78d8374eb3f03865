#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include <dragoman/core/log.h>

namespace dragoman::training {

/// The amount of text of a parallel corpus. A pair counts if neither side is blank.
struct CorpusSize {
  std::uint64_t pairs = 0;
  /// Decompressed, without line ends.
  std::uint64_t source_bytes = 0;
  std::uint64_t target_bytes = 0;
  /// The number of different characters of both sides.
  std::uint64_t characters = 0;
  /// The number of the most frequent characters that make up kCharacterCoverage of the text.
  std::uint64_t frequent_characters = 0;

  std::uint64_t bytes_per_side() const noexcept { return (source_bytes + target_bytes) / 2; }
};

/// SentencePiece's recommendation for languages with many characters, such as Chinese and Japanese.
inline constexpr double kCharacterCoverage = 0.9995;

/// Reads two files that are parallel by line number (plain, gzip or Zstandard) and returns the amount of text.
/// Error{kInvalidArgument} for standard input, Error{kIo} for a file that cannot be read, and Error{kBadInput} if the
/// numbers of lines differ or no pair counts. Memory does not depend on the size of the files.
CorpusSize measure_corpus(const std::string& source, const std::string& target, const core::ProgressSink& progress = {},
                          const std::stop_token& stop = {});

/// The values of a first training on a corpus: a starting point, which validation scores should improve on.
struct StartingRecipe {
  std::int64_t vocabulary = 0;    ///< pieces of one vocabulary for both sides
  double character_coverage = 1;  ///< share of the text whose characters are pieces
  std::int64_t d_model = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  std::int64_t layers = 0;  ///< of the encoder, and of the decoder
  double dropout = 0;       ///< of embeddings and sub-layers
  double attention_dropout = 0;
  std::int64_t batch_tokens = 0;
  std::int64_t accumulate = 1;  ///< batches for one update
  std::int64_t updates = 0;
  std::int64_t warmup = 0;
  double learning_rate = 0;
  std::int64_t validation_every = 0;  ///< in updates
  std::int64_t epochs = 0;            ///< about how often the updates read the text; at least 1
  std::string origin{};               ///< the published recipe that the values follow, in a few words
};

/// Chooses the values by the amount of text. With more text of the same alphabet, the vocabulary, the model, the batch
/// and the number of updates are never smaller. starting_recipe.cpp names the published recipes that it follows.
StartingRecipe choose_recipe(const CorpusSize& size);

/// The names of the files of a first training, as a user gave them.
struct StartingFiles {
  std::string source;
  std::string target;
  /// Both empty: no validation.
  std::string validation_source{};
  std::string validation_target{};

  bool validated() const noexcept { return !validation_source.empty(); }
};

/// The folder of the run and the file of the vocabulary in a starting configuration.
inline constexpr const char* kStartingOutput = "run";
inline constexpr const char* kStartingTokenizer = "tokenizer.json";

/// Returns a training configuration in YAML with a comment for each choice. read_training_config() accepts it.
std::string starting_configuration(const StartingFiles& files, const CorpusSize& size, const StartingRecipe& recipe);

}  // namespace dragoman::training
