#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/log.h>
#include <dragoman/core/shared_json.h>
#include <dragoman/pipeline/model.h>
#include <dragoman/pipeline/translate_service.h>
#include <dragoman/pipeline/translation.h>

namespace dragoman::server {

/// A model and the language pair that it serves.
struct ServedModel {
  /// A language code. "*": every language of the model's language table.
  std::string source{};
  std::string target{};
  std::filesystem::path folder{};
};

/// Parses `de-en=FOLDER`, `zh-Hans:en=FOLDER` (for codes with a hyphen), `en-*=FOLDER`, or `FOLDER` alone, which means
/// `*-*=FOLDER`. Error{kInvalidArgument} for anything else.
ServedModel parse_served_model(const std::string& word);

/// A language that a text may be in.
struct LanguageGuess {
  std::string language{};
  double confidence = 0;  ///< from 0 to 1
};

/// Returns the most probable languages of a text, best first. Must be thread-safe.
using Detector = std::function<std::vector<LanguageGuess>(std::string_view text, std::size_t most)>;

struct ServiceOptions {
  std::vector<ServedModel> models{};
  /// A pair without a model is translated through this language, if there are models for both halves. Empty: such pairs
  /// are not offered.
  std::string pivot{};
  pipeline::ModelOptions model{};
  pipeline::TranslateOptions translate{};
  /// Empty: every text without a source language is taken to be in the first language of the service.
  Detector detector{};
  /// The largest sum of the characters of all unfinished requests. Each text counts for kCharactersOfText more.
  /// The sum of a request is multiplied by its number of translations, and by 16 if it has alignments.
  std::size_t characters_in_flight = 2'000'000;
  /// The largest beam and number of translations that a request may set.
  std::int32_t max_hypotheses = 32;
  core::LogSink log{};
};

/// The service has no room for a request now.
class Busy final : public std::runtime_error {
 public:
  Busy(const std::string& message, std::chrono::seconds retry_after)
      : std::runtime_error(message), retry_after_(retry_after) {}
  /// Returns an estimate of when there will be room.
  std::chrono::seconds retry_after() const noexcept { return retry_after_; }

 private:
  std::chrono::seconds retry_after_;
};

/// The request was stopped after its deadline, so the same request would be stopped again.
class DeadlinePassed final : public core::Error {
 public:
  DeadlinePassed();
};

enum class TextFormat : std::uint8_t {
  kText,
  /// A text is a fragment of HTML. Its tags stay with the translations of their words (docs/guides/markup.md). It is
  /// shown by on_partial when it is complete. Requests for alternatives or alignments are refused.
  kHtml,
};

/// A term of the source language, and the texts that may translate it.
struct GlossaryTerm {
  std::string source{};
  std::vector<std::string> targets{};
  bool exact_case = false;
};
/// A glossary, ready for use by any number of requests.
using SharedTerms = std::shared_ptr<const pipeline::Glossary>;

/// The largest number of terms of a glossary, and of the targets of a term.
inline constexpr std::size_t kMaxTerms = 10'000;
inline constexpr std::size_t kMaxTargetsOfTerm = 100;

/// Error{kBadInput} for an empty or overlong term, and for more than kMaxTerms of them.
SharedTerms make_terms(std::vector<GlossaryTerm> terms);

/// More of the translation of a text. The decided parts, joined, are the beginning of its translation.
struct PartialText {
  std::size_t text = 0;  ///< the index of the text
  std::string_view more{};
  /// The rest of the leading hypothesis, which may still change.
  std::string tail{};
};

/// A sentence of a text, with its translations, best first.
struct TranslatedSentence {
  std::string source{};
  /// The part of the source that each column of the alignments belongs to, but for the last, the end of the source.
  /// Empty without alignments, after a pivot, and for models with language tokens in the source.
  std::vector<std::string> source_tokens{};
  std::vector<pipeline::Translation> translations{};
};

struct TranslatedText {
  std::string text{};
  /// The language that was detected, if the request had none.
  std::optional<LanguageGuess> detected{};
  /// Further translations, distinct from `text` and from each other.
  std::vector<std::string> alternatives{};
  /// Filled in if the request asks for details.
  std::vector<TranslatedSentence> sentences{};
  /// The reason why there is no translation: a core::Error, whose message is fit for a client.
  std::exception_ptr error{};
};

struct TranslateRequest {
  /// Valid UTF-8. A text may have many lines and sentences; each sentence is translated separately, and the whitespace
  /// between them is kept.
  std::vector<std::string> texts{};
  /// A code that TranslationService::find_language() accepts. "auto" or empty: detected for each text, among the
  /// languages that are translated into the target. If a text is in none of them, the first one, with confidence 0.
  std::string source{};
  std::string target{};
  TextFormat format = TextFormat::kText;
  /// The number of further translations.
  std::int32_t alternatives = 0;
  /// Options of the search, under the keys of decoding::search_table().
  core::SharedJson options{};
  std::string target_prefix{};  ///< every translation begins with it
  /// Texts that the translation must contain. Only for texts of one sentence.
  std::vector<std::string> constraints{};
  std::vector<std::string> suppress{};  ///< texts that no translation may contain
  /// nullptr: the service's own glossary, if it has one.
  SharedTerms glossary{};
  bool details = false;
  /// Whether details have alignments.
  bool alignment = false;
  /// Identifies the client, such as by a key or an address. The unfinished requests of one caller have at most three
  /// quarters of ServiceOptions::characters_in_flight. Empty: no such limit.
  std::string caller{};
  /// A stop request ends the request with Error{kInterrupted}; with DeadlinePassed if it comes after the deadline.
  std::stop_token stop{};
  /// It only decides the error of a stop: the caller requests the stop.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  /// Called by a worker. It must be quick and must not throw. Calls for one text do not overlap.
  std::function<void(const PartialText&)> on_partial{};
  /// Called with each text when its translation is complete, in any order, before `done`.
  std::function<void(std::size_t index, const TranslatedText&)> on_text{};
};

struct TranslateResult {
  /// One for each text, in order.
  std::vector<TranslatedText> texts{};
  /// Returns the error of the first text that has one, otherwise nullptr.
  std::exception_ptr error() const;
};

struct Language {
  std::string code{};
  std::string name{};                  ///< in English
  std::vector<std::string> targets{};  ///< the codes that it can be translated into, without its own
};

struct ModelInfo {
  std::string source{};
  std::string target{};
  std::string type{};     ///< "transformer"
  std::string device{};   ///< "cpu"
  std::string compute{};  ///< "int8"
};

/// The state of a service, for metrics.
struct ServiceLoad {
  std::size_t requests = 0;    ///< unfinished
  std::size_t characters = 0;  ///< of them, as ServiceOptions::characters_in_flight counts them
  std::size_t sentences = 0;   ///< being translated
  std::uint64_t requests_done = 0;
  std::uint64_t characters_done = 0;  ///< of the texts that were translated
  std::uint64_t sentences_done = 0;
  std::uint64_t refused = 0;  ///< requests, with Busy
};

/// Translates the requests of many clients with the models of any number of language pairs. Requests of all clients
/// share batches; clients take turns, one sentence at a time. Thread-safe.
///
///     TranslationService service({.models = {parse_served_model("de-en=models/de-en")}});
///     service.translate({.texts = {"Guten Morgen!"}, .source = "de", .target = "en"}, [](TranslateResult result) {
///       if (!result.error()) std::cout << result.texts.front().text << '\n';
///     });
class TranslationService {
 public:
  /// The number of characters that is added for each text.
  static constexpr std::size_t kCharactersOfText = 64;

  using Done = std::function<void(TranslateResult)>;

  /// Loads the models. Throws core::Error as pipeline::Model.
  explicit TranslationService(ServiceOptions options);
  /// Unfinished requests end with Error{kInterrupted}.
  ~TranslationService();
  TranslationService(const TranslationService&) = delete;
  TranslationService& operator=(const TranslationService&) = delete;

  /// Queues a request and returns. `done` and `on_text` are called by the thread of the service, one call at a time, so
  /// they must be quick; they may call the service. If translate() throws, they are not called.
  ///
  /// Throws Busy if the service has no room, Error{kBadInput} for options that no request may have, and
  /// Error{kUnsupported} for languages and formats that are not offered. Problems that only the model can find are
  /// the `error` of a text.
  void translate(TranslateRequest request, Done done);

  /// Returns the languages that texts may be in, by code.
  std::vector<Language> languages() const;
  /// Returns the code of the offered language that `code` names: the same code in any case, one in another spelling
  /// ("deu", "de_DE"), or the language without its region. nullopt if none is meant.
  std::optional<std::string> find_language(std::string_view code) const;
  /// Returns whether texts in `source` are translated into `target`. Both are offered codes.
  bool offers(const std::string& source, const std::string& target) const;
  /// Returns the name of a language in English; its code if it has none.
  static std::string language_name(const std::string& code);
  std::vector<ModelInfo> models() const;
  /// Returns the names of the decoders that a request may choose.
  std::vector<std::string> decoders() const;
  /// Returns ServiceOptions::max_hypotheses.
  std::int32_t max_hypotheses() const noexcept;

  /// Returns the most probable languages of the text, best first, by offered codes where there are such.
  std::vector<LanguageGuess> detect(std::string_view text, std::size_t most) const;

  /// Loads all models again. Requests that come later use the new models; the old ones end with their last request. If
  /// it throws, the old models stay. Takes as long as the models take to load; one call at a time.
  void reload();

  ServiceLoad load() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::server
