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
// Functions report errors by throwing dragoman::Error. <dragoman/core/error.h> lists the codes, and the exceptions of
// the standard library that may pass. Model, Tokenizer, Translator, Scorer, Embedder and Aligner are handles: a copy
// refers to the same object. They are thread-safe: any number of threads may use one object, and create objects from
// one Model. All other types are values.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
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

/// Converts text to tokens and back. Immutable after construction.
///
///     const Tokenizer tokenizer = Tokenizer::open("tokenizer.json");
///     const std::vector<std::int32_t> ids = tokenizer.encode("Guten Morgen!");
///     const std::string text = tokenizer.decode(ids);
class Tokenizer {
 public:
  /// Opens a tokenizer file in any format that Dragoman reads: tokenizer.json, a SentencePiece model, codes of
  /// subword-nmt and others. The format is recognised by the content of the file.
  static Tokenizer open(const std::filesystem::path& file);
  /// Wraps an open tokenizer, for example the one of a model: Tokenizer(model.source_tokenizer()).
  /// Error{kInvalidArgument} for a null pointer.
  Tokenizer(std::shared_ptr<const tokenizer::Tokenizer> tokenizer);  // NOLINT: meant to be implicit

  /// Returns the size of the vocabulary. Token ids are 0 to size() - 1.
  std::int32_t size() const;
  /// Encodes one line of text and returns the token ids. Adds no special tokens.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// Encodes one line of text and returns the tokens as strings.
  std::vector<std::string> tokenize(std::string_view text) const;
  /// Decodes token ids to text; special tokens are left out. Error{kInvalidArgument} for an id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const;
  /// Returns the token with this id as text. Error{kInvalidArgument} for an id outside the vocabulary.
  std::string token(std::int32_t id) const;
  /// Returns the id of a token, or nullopt if the vocabulary does not contain the token.
  std::optional<std::int32_t> id(std::string_view token) const;
  /// Writes a tokenizer.json (BPE) or a SentencePiece model (unigram). Error{kUnsupported} for other tokenizers.
  void save(const std::filesystem::path& file) const;

  /// Returns the tokenizer with its full interface, <dragoman/tokenizer/tokenizer.h>.
  const std::shared_ptr<const tokenizer::Tokenizer>& shared() const noexcept { return tokenizer_; }

 private:
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
};

using LearnBpeOptions = tokenizer::LearnOptions;
using tokenizer::LearnUnigramOptions;

/// Learns a BPE vocabulary from text files. Several files give one joint vocabulary. The result is byte-identical to
/// the result of `dragoman learn-bpe`. A stop request ends learning with Error{kInterrupted}. Full contract:
/// <dragoman/tokenizer/learn_bpe.h>.
Tokenizer learn_bpe(const std::vector<std::filesystem::path>& files, const LearnBpeOptions& options = {},
                    const ProgressSink& progress = {}, const LogSink& log = {}, const std::stop_token& stop = {});
/// Learns a unigram vocabulary as SentencePiece does. The result is byte-identical to the result of
/// `dragoman learn-unigram`. Full contract: <dragoman/tokenizer/learn_unigram.h>.
Tokenizer learn_unigram(const std::vector<std::filesystem::path>& files, const LearnUnigramOptions& options = {},
                        const ProgressSink& progress = {}, const LogSink& log = {}, const std::stop_token& stop = {});

// --- Translation ----------------------------------------------------------------------------------------------------

/// The options of a search, under the names that docs/guides/search.md explains. An unset member takes its value
/// from the translator's Search, then from the model folder, then from the program's defaults. For example,
/// `Search{.beam_size = 5}` gives the bytes of `dragoman translate --beam-size 5`. An invalid option is an
/// Error{kBadInput} that names the option.
using decoding::Search;

/// The options of one text, besides the search.
struct Request {
  /// Language codes, for models with a language table.
  std::string source_language{};
  std::string target_language{};
  /// Every translation begins with this text.
  std::string target_prefix{};
  /// Every translation contains each of these texts as whole words. If the length limit or suppressed tokens make this
  /// impossible, Translation::unmet_constraints names the missing texts. Requires beam search.
  std::vector<std::string> constraints{};
  /// Whether the text consists of tokens of the source tokenizer, separated by spaces, as in "▁Hallo ▁Welt". A token
  /// outside the vocabulary becomes the unknown token. `target_prefix` and `constraints` remain plain text.
  bool input_pieces = false;
  /// Whether translations are returned as tokens of the target tokenizer, separated by spaces.
  bool output_pieces = false;
  /// "none", or "html": the text and its translation are fragments of HTML. docs/guides/markup.md explains the rules.
  std::string markup = "none";
  /// A stop request ends the translation with Error{kInterrupted}.
  std::stop_token stop{};
  /// Called by a worker thread whenever a longer prefix of the translation is final, with that whole prefix. The
  /// callback must be quick and must not call the translator. It does not change the result. Not available for
  /// translate_batch() with more than one text.
  std::function<void(std::string_view text)> on_partial{};
};

/// Translates text. All calls, from any number of threads, share the worker threads of the model.
///
///     const Translator translator(Model("models/de-en"));
///     const Translation best = translator.translate("Guten Morgen!", Search{.beam_size = 5}).front();
///     std::cout << best.text << ' ' << best.score;
///
/// It keeps a handle of the model.
class Translator {
 public:
  /// `search` provides the options that the Search of a call leaves unset. `logits_processors` are registered ones by
  /// name, each with its options as a JSON object, or "". They apply to every call. Error{kInvalidArgument} for a name
  /// that is not registered.
  explicit Translator(const Model& model, const Search& search = {},
                      const std::map<std::string, std::string>& logits_processors = {});

  /// Returns the best translation. The translation of an empty or blank text is empty.
  std::string translate(std::string_view text, const Request& request = {}) const;
  /// Returns up to n_best translations, at least one, best first.
  std::vector<Translation> translate(std::string_view text, const Search& search, const Request& request = {}) const;

  /// Returns the best translation of each text, in order. All texts are decoded together, so this is much faster than
  /// one call per text. If texts fail, the first error is thrown after all texts have finished; its message has the
  /// number of the text.
  std::vector<std::string> translate_batch(const std::vector<std::string>& texts, const Request& request = {}) const;
  std::vector<std::vector<Translation>> translate_batch(const std::vector<std::string>& texts, const Search& search,
                                                        const Request& request = {}) const;

  /// Receives the translations or the error of one submitted text. Called exactly once: by a worker thread, or by the
  /// thread in submit() if there is nothing to translate (a blank text) or the request cannot be queued. It must be
  /// quick, must not throw, and must not call the translator. Not called if submit() throws, as it does for an invalid
  /// `search`.
  using Done = std::function<void(std::vector<Translation> translations, std::exception_ptr error)>;
  /// Queues a text and returns. Blocks only while the unfinished requests of this translator hold more than 64 MiB.
  /// When the last handle of the translator is destroyed, unfinished requests end with Error{kInterrupted}.
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
  /// The length penalty that turns the log probability into the score; see Search::length_penalty.
  std::string length_penalty = "none";
  /// The strength of the length penalty. Unset: the default of that penalty.
  std::optional<double> alpha{};
  /// Language codes, as in Request.
  std::string source_language{};
  std::string target_language{};
};

struct Score {
  /// log_probability under the length penalty.
  double score = 0;
  /// The sum of `token_scores`.
  double log_probability = 0;
  /// The tokens of the target, without the end-of-sentence token.
  std::vector<std::string> tokens{};
  /// The natural logarithm of the probability of each token, then of the end-of-sentence token.
  std::vector<double> token_scores{};
};

/// Computes the probability of a given target under the model, given the source (forced decoding).
///
///     const Scorer scorer(Model("models/de-en"));
///     const double log_probability = scorer.score("Guten Morgen!", "Good morning!").log_probability;
class Scorer {
 public:
  explicit Scorer(const Model& model, const ScorerOptions& options = {});

  /// Returns the score of one pair. Error{kBadInput} if a sentence is longer than the model supports.
  Score score(std::string_view source, std::string_view target) const;
  /// Returns one score per pair, in order.
  std::vector<Score> score_batch(const std::vector<SentencePair>& pairs, const std::stop_token& stop = {}) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

enum class Pooling : std::uint8_t {
  kMean,   ///< the mean over the tokens, including the end-of-sentence token
  kFirst,  ///< the vector of the first token
  kMax,    ///< the maximum of each element over the tokens
};

struct EmbedderOptions {
  Pooling pooling = Pooling::kMean;
  /// 0 selects the token embeddings, i the output of layer i; negative values count from the last layer. Unset: the
  /// output of the encoder, after the final norm.
  std::optional<int> layer{};
  /// Whether a text that is longer than the model supports is cut. Otherwise it is an error.
  bool cut_long_texts = false;
};

/// The vectors of the tokens of one text.
struct TokenVectors {
  std::vector<std::string> tokens{};  ///< including the end-of-sentence token
  std::size_t width = 0;
  std::vector<float> values{};  ///< [tokens][width]
};

/// Computes embeddings of text from the states of a model's encoder.
///
///     const Embedder embedder(Model("models/de-en"), {.pooling = Pooling::kMean});
///     const std::vector<float> vector = embedder.embed("Guten Morgen!");
class Embedder {
 public:
  explicit Embedder(const Model& model, const EmbedderOptions& options = {});

  /// Returns one vector for the text. Error{kBadInput} if the text is longer than the model supports and
  /// `cut_long_texts` is not set.
  std::vector<float> embed(std::string_view text) const;
  /// Returns one vector per text, in order.
  std::vector<std::vector<float>> embed_batch(const std::vector<std::string>& texts,
                                              const std::stop_token& stop = {}) const;
  /// Returns one vector per token.
  TokenVectors embed_tokens(std::string_view text) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

struct AlignerOptions {
  /// A model that translates in the opposite direction. If set, the alignments of both models are combined.
  std::optional<Model> reverse_model{};
  /// How the alignments of two models are combined: "intersection", "union", "grow-diag", "grow-diag-final" or
  /// "grow-diag-final-and".
  std::string symmetrize = "grow-diag-final-and";
  /// Whether tokens are aligned instead of words.
  bool tokens = false;
  /// The decoder layer whose attention is used, from 0; negative values count from the last layer. Unset: the attention
  /// that the model declares as its alignment.
  std::optional<int> layer{};
  /// If greater than 0, all links whose attention weight is at least this value are returned. Otherwise each target
  /// unit has its best link, the one with the largest weight.
  double threshold = 0;
};

/// A link between two units of an Alignment, by their indices.
struct Link {
  std::int32_t source = 0;
  std::int32_t target = 0;
  auto operator<=>(const Link&) const = default;
};

struct Alignment {
  /// Sorted by source, then by target.
  std::vector<Link> links{};
  /// The units (words or tokens) that the indices of `links` refer to, from 0.
  std::vector<std::string> source{};
  std::vector<std::string> target{};
};

/// Aligns the words of sentence pairs by the cross-attention of the model.
///
///     const Aligner aligner(Model("models/de-en"));
///     for (const Link& link : aligner.align("Guten Morgen !", "Good morning !").links)
///       std::cout << link.source << '-' << link.target << ' ';
class Aligner {
 public:
  explicit Aligner(const Model& model, const AlignerOptions& options = {});

  /// Returns the alignment of one pair. Error{kBadInput} if a sentence is longer than the model supports.
  Alignment align(std::string_view source, std::string_view target) const;
  /// Returns one alignment per pair, in order.
  std::vector<Alignment> align_batch(const std::vector<SentencePair>& pairs, const std::stop_token& stop = {}) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// --- Training -------------------------------------------------------------------------------------------------------

/// A training configuration with the keys of `dragoman train`, which docs/guides/training.md explains. A value type, so
/// copies are independent. Not thread-safe.
class TrainConfig {
 public:
  /// Reads a YAML file. Error{kBadInput} names the line or the key.
  static TrainConfig read(const std::filesystem::path& file);
  /// Parses YAML text. Messages refer to the text as `name`.
  static TrainConfig parse(std::string_view yaml, const std::string& name = "configuration");

  /// Sets one key to a YAML value, as `--set KEY=VALUE` does: set("training.updates", "200"). train() checks the
  /// values.
  TrainConfig& set(std::string_view key, std::string_view value);
  /// Returns the configuration as YAML.
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

/// The texts of a validation, line by line.
struct ValidationTexts {
  const std::vector<std::string>& sources;
  const std::vector<std::string>& hypotheses;
  const std::vector<std::string>& references;
};
/// Returns a figure for the translations of a validation: a finite number. An exception of the function ends the
/// training.
using MetricFunction = std::function<double(const ValidationTexts& texts)>;

struct TrainOptions {
  /// Whether to continue from the last checkpoint of the output folder.
  bool resume = false;
  LogSink log{};
  ProgressSink progress{};
  /// Metrics of validations by name. The configuration uses them as `{name: mine, function: NAME}` in
  /// `validation.metrics`. They are called from the thread that validates.
  std::map<std::string, MetricFunction> metrics{};
  /// After a stop request, training finishes the current update, writes a checkpoint and throws Error{kInterrupted}.
  std::stop_token stop{};
};

struct TrainResult {
  /// The model folder: the best model if there was a validation, otherwise the last one.
  std::filesystem::path model{};
  std::int64_t updates = 0;
  std::int64_t epochs = 0;
  bool stopped_early = false;
  /// The metric that selects the best model.
  std::string metric{};
  /// The best value of the metric; unset without a validation.
  std::optional<double> best{};
};

/// Trains a model in this process. The result is byte-identical to the result of `dragoman train`.
///
///     TrainConfig config = TrainConfig::read("train.yml");
///     config.set("training.updates", "200");
///     const TrainResult result = train(config);
TrainResult train(const TrainConfig& config, const TrainOptions& options = {});

// --- Conversion -----------------------------------------------------------------------------------------------------

struct ConvertOptions {
  /// The kind of the input: a kind of tokenizer file ("sentencepiece", "subword-nmt", ...) or the name of a model
  /// importer ("huggingface", "marian", ...). Empty: recognised by content.
  std::string from{};
  /// The kind of the output: for a tokenizer, a kind of tokenizer file; empty: the name of the output decides. For a
  /// model, the toolkit to export to ("ctranslate2", "marian-npz", "huggingface"); empty: a model folder.
  std::string to{};
  /// Options of the model importer, as a JSON object or empty.
  std::string import_options{};
  LogSink log{};
  /// A stop request ends the conversion soon, with Error{kInterrupted}. Nothing is written.
  std::stop_token stop{};
};

/// Converts a tokenizer file to another format, imports a model of another toolkit to a model folder, or exports a
/// model, as `dragoman convert` does. Error{kUnsupported}, which names the parts, if the output cannot express the
/// input. Error{kInvalidArgument} for an unknown kind, for options without effect on this input, and if the output
/// would replace the input.
///
///     convert("opus-mt-de-en", "models/de-en");
///     convert("source.spm", "tokenizer.json");
void convert(const std::filesystem::path& input, const std::filesystem::path& output,
             const ConvertOptions& options = {});

/// Writes a model folder whose weights are rounded to `type`, kI8 or kBF16. Full contract:
/// <dragoman/plugins/quantize_model.h>.
void quantize(const std::filesystem::path& model, const std::filesystem::path& output,
              ComputeChoice type = ComputeChoice::kI8, const std::stop_token& stop = {});

}  // namespace dragoman
