#pragma once

// The embedded API of Dragoman. docs/guides/embedding.md explains it with examples.
//
//     #include <dragoman/dragoman.h>
//     using namespace dragoman;
//
//     Model model("models/de-en");
//     Translator translator(model);
//     std::string text = translator.translate("Guten Morgen!");
//
// Everything here throws dragoman::Error. All classes are thread-safe unless noted otherwise: any number of threads may
// use one object, and create objects from one Model. Copies are handles of one object.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/log.h>
#include <dragoman/decoding/search.h>
#include <dragoman/pipeline/model.h>
#include <dragoman/pipeline/translation.h>
#include <dragoman/tokenizer/learn_bpe_options.h>
#include <dragoman/tokenizer/learn_unigram_options.h>

namespace dragoman {

using core::Error;
using core::ErrorCode;
using core::LogLevel;
using core::LogSink;
using core::Progress;
using core::ProgressSink;

using pipeline::Model;
using pipeline::ModelOptions;
using pipeline::Translation;
using tensor::ComputeChoice;

// --- Tokenizers -----------------------------------------------------------------------------------------------------

/// Text to tokens and back.
class Tokenizer {
 public:
  /// Opens a tokenizer file of any kind that Dragoman reads: tokenizer.json, a SentencePiece model, codes of
  /// subword-nmt, ... The kind is recognised by content.
  static Tokenizer open(const std::filesystem::path& file);
  /// For the tokenizer of a model: Tokenizer(model.source_tokenizer()).
  Tokenizer(std::shared_ptr<const tokenizer::Tokenizer> tokenizer);  // NOLINT: meant to be implicit

  /// The number of tokens; ids are 0 to size() - 1.
  std::int32_t size() const;
  /// The ids of one line of text. No special tokens are added.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// Encodes one line of text and returns the tokens as texts.
  std::vector<std::string> tokenize(std::string_view text) const;
  /// The text of the ids, without special tokens. Error{kInvalidArgument} for an id that is none.
  std::string decode(std::span<const std::int32_t> ids) const;
  std::string token(std::int32_t id) const;
  /// Unset if there is no such token.
  std::optional<std::int32_t> id(std::string_view token) const;
  /// Writes a tokenizer.json (BPE) or a SentencePiece model (unigram). Error{kUnsupported} for other tokenizers.
  void save(const std::filesystem::path& file) const;

  /// The full interface: <dragoman/tokenizer/tokenizer.h>.
  const std::shared_ptr<const tokenizer::Tokenizer>& shared() const noexcept { return tokenizer_; }

 private:
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
};

using LearnBpeOptions = tokenizer::LearnOptions;
using tokenizer::LearnUnigramOptions;

/// Learns a vocabulary of byte pair encoding from text files; several files give a joint one. Gives the
/// bytes of `dragoman learn-bpe`. Contract: <dragoman/tokenizer/learn_bpe.h>.
Tokenizer learn_bpe(const std::vector<std::filesystem::path>& files, const LearnBpeOptions& options = {},
                    const ProgressSink& progress = {}, const LogSink& log = {}, const std::stop_token& stop = {});
/// Learns a unigram vocabulary as SentencePiece does. Gives the bytes of `dragoman learn-unigram` with the same
/// options; the command normalises with "nmt_nfkc" by default, and this function with `normalization.name`, "identity".
/// Contract: <dragoman/tokenizer/learn_unigram.h>.
Tokenizer learn_unigram(const std::vector<std::filesystem::path>& files, const LearnUnigramOptions& options = {},
                        const ProgressSink& progress = {}, const LogSink& log = {}, const std::stop_token& stop = {});

// --- Translation ----------------------------------------------------------------------------------------------------

/// How translations are searched. Unset members have the value of the translator's own Search, else of the model
/// folder, else of the program; so `Search{.beam_size = 5}` gives the bytes of `dragoman translate --beam-size 5`.
/// docs/concepts/decoding.md explains the options; they have the same names there. Error{kBadInput} names an option
/// that makes no sense.
using decoding::Search;

/// The options of one text, besides the search.
struct Request {
  /// Codes of the model's language table, for models that have one.
  std::string source_language{};
  std::string target_language{};
  /// The text that every translation begins with.
  std::string target_prefix{};
  /// Texts that every translation must hold as whole words; beam search only.
  std::vector<std::string> constraints{};
  /// Whether texts are tokens of the model's source tokenizer with spaces between them, as in "▁Hallo ▁Welt". A token
  /// that it lacks is the unknown one. The other members are text all the same.
  bool input_pieces = false;
  /// Whether translations are tokens of the target tokenizer with spaces between them.
  bool output_pieces = false;
  /// A stop request ends the text with Error{kInterrupted}.
  std::stop_token stop{};
  /// Called by a worker whenever more of the translation is decided, with all that is decided so far. It must be quick
  /// and must not call the translator. Results are the same with and without it. Not for batches of several texts.
  std::function<void(std::string_view text)> on_partial{};
};

/// Translates text. Calls from any number of threads share the model's workers.
class Translator {
 public:
  /// `search` completes the searches of all calls.
  explicit Translator(const Model& model, const Search& search = {});

  /// The best translation. A text without any words gives an empty one.
  std::string translate(std::string_view text, const Request& request = {}) const;
  /// Returns one to n_best translations, best first.
  std::vector<Translation> translate(std::string_view text, const Search& search, const Request& request = {}) const;

  /// The best translation of each text, in order. All texts are in the engine at the same time, so this is much faster
  /// than a call per text. An error of one text is thrown when all are done, and names its number.
  std::vector<std::string> translate_batch(const std::vector<std::string>& texts, const Request& request = {}) const;
  std::vector<std::vector<Translation>> translate_batch(const std::vector<std::string>& texts, const Search& search,
                                                        const Request& request = {}) const;

  /// Called once, by a worker: the translations, or the error. It must be quick, must not throw, and must not call the
  /// translator.
  using Done = std::function<void(std::vector<Translation> translations, std::exception_ptr error)>;
  /// Returns as soon as the text is queued; waits only while megabytes of text are in flight. Texts in flight when the
  /// last handle of the translator is destroyed end with Error{kInterrupted}.
  void submit(std::string_view text, const Search& search, const Request& request, Done done) const;
  std::future<std::vector<Translation>> submit(std::string_view text, const Search& search = {},
                                               const Request& request = {}) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// --- Scores, embeddings, alignments ---------------------------------------------------------------------------------

struct SentencePair {
  std::string source{};
  std::string target{};
};

struct ScorerOptions {
  /// The length penalty that makes the score from the log probability; see Search.
  std::string length_penalty = "none";
  std::optional<double> alpha{};
  /// See Request.
  std::string source_language{};
  std::string target_language{};
};

struct Score {
  double score = 0;
  /// The sum of token_scores.
  double log_probability = 0;
  /// The tokens of the target.
  std::vector<std::string> tokens{};
  /// Natural logarithms of their probabilities, and one more for the end.
  std::vector<double> token_scores{};
};

/// Scores given translations: how probable the model finds the target of each source.
class Scorer {
 public:
  explicit Scorer(const Model& model, const ScorerOptions& options = {});

  /// Error{kBadInput} for a sentence that is longer than the model takes.
  Score score(std::string_view source, std::string_view target) const;
  /// One score per pair, in order.
  std::vector<Score> score_batch(const std::vector<SentencePair>& pairs, const std::stop_token& stop = {}) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

enum class Pooling : std::uint8_t {
  kMean,   ///< the mean over the tokens, the end included
  kFirst,  ///< the vector of the first token
  kMax,    ///< the maximum of each element
};

struct EmbedderOptions {
  Pooling pooling = Pooling::kMean;
  /// 0: the embedded tokens; i: the output of layer i; negative numbers count from the last. Unset: the encoder's
  /// output, after the final norm.
  std::optional<int> layer{};
  /// Whether a text that is longer than the model takes is cut instead of an error.
  bool cut_long_texts = false;
};

/// The vectors of the tokens of one text.
struct TokenVectors {
  std::vector<std::string> tokens{};  ///< the end included
  std::size_t width = 0;
  std::vector<float> values{};  ///< [tokens][width]
};

/// Makes vectors of text from the states of a model's encoder.
class Embedder {
 public:
  explicit Embedder(const Model& model, const EmbedderOptions& options = {});

  /// One vector for the text. Error{kBadInput} for one that is longer than the model takes, unless it is cut.
  std::vector<float> embed(std::string_view text) const;
  /// One vector per text, in order.
  std::vector<std::vector<float>> embed_batch(const std::vector<std::string>& texts,
                                              const std::stop_token& stop = {}) const;
  /// One vector per token.
  TokenVectors embed_tokens(std::string_view text) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

struct AlignerOptions {
  /// A model of the other direction, for alignments that both agree on.
  std::optional<Model> reverse_model{};
  /// With it: "intersection", "union", "grow-diag", "grow-diag-final" or "grow-diag-final-and".
  std::string symmetrize = "grow-diag-final-and";
  /// Align tokens instead of words.
  bool tokens = false;
  /// The decoder layer whose attention counts, from 0; negative numbers count from the last. Unset: the model's own
  /// choice.
  std::optional<int> layer{};
  /// Above 0: all links of at least this weight, instead of the best of each target unit.
  double threshold = 0;
};

struct Link {
  std::int32_t source = 0;
  std::int32_t target = 0;
  auto operator<=>(const Link&) const = default;
};

struct Alignment {
  /// Sorted by source, then by target.
  std::vector<Link> links{};
  /// The units that links number, from 0: words or tokens.
  std::vector<std::string> source{};
  std::vector<std::string> target{};
};

/// Aligns the words of sentence pairs by the attention of the model.
class Aligner {
 public:
  explicit Aligner(const Model& model, const AlignerOptions& options = {});

  /// Error{kBadInput} for a sentence that is longer than the model takes.
  Alignment align(std::string_view source, std::string_view target) const;
  /// One alignment per pair, in order.
  std::vector<Alignment> align_batch(const std::vector<SentencePair>& pairs, const std::stop_token& stop = {}) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// --- Training -------------------------------------------------------------------------------------------------------

/// A training configuration: the keys of `dragoman train`, which docs/guides/training.md explains. A value type; not
/// thread-safe.
class TrainConfig {
 public:
  /// Reads a YAML file. Error{kBadInput} names the line, or the key.
  static TrainConfig read(const std::filesystem::path& file);
  /// Parses YAML text; messages call it `name`.
  static TrainConfig parse(std::string_view yaml, const std::string& name = "configuration");

  /// Sets one key, as `--set KEY=VALUE` does: set("training.updates", "200"). The value is read as YAML. Values are
  /// checked when training begins.
  TrainConfig& set(std::string_view key, std::string_view value);
  /// The configuration as YAML.
  std::string to_yaml() const;

  TrainConfig(const TrainConfig&);
  TrainConfig& operator=(const TrainConfig&);
  TrainConfig(TrainConfig&&) noexcept;
  TrainConfig& operator=(TrainConfig&&) noexcept;
  ~TrainConfig();

  struct Impl;
  const Impl& impl() const noexcept { return *impl_; }

 private:
  explicit TrainConfig(Impl impl);
  std::unique_ptr<Impl> impl_;
};

struct TrainOptions {
  /// Continue from the last checkpoint of the output folder.
  bool resume = false;
  LogSink log{};
  ProgressSink progress{};
  /// A stop request ends training after the update in progress, with a checkpoint and Error{kInterrupted}.
  std::stop_token stop{};
};

struct TrainResult {
  /// The model folder: the best one if there was a validation, else the last.
  std::filesystem::path model{};
  std::int64_t updates = 0;
  std::int64_t epochs = 0;
  bool stopped_early = false;
  /// The metric that the best model is chosen by, and its best value; unset without a validation.
  std::string metric{};
  std::optional<double> best{};
};

/// Trains a model in this process. The result has the bytes of `dragoman train`.
TrainResult train(const TrainConfig& config, const TrainOptions& options = {});

}  // namespace dragoman
