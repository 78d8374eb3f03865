#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/option_table.h>
#include <dragoman/decoding/shortlist.h>
#include <dragoman/engine/translation_engine.h>
#include <dragoman/pipeline/attention.h>
#include <dragoman/pipeline/mbr.h>
#include <dragoman/pipeline/model.h>
#include <dragoman/pipeline/model_view.h>
#include <dragoman/pipeline/service.h>
#include <dragoman/pipeline/translation.h>
#include <dragoman/pipeline/unknown_dictionary.h>

namespace dragoman::pipeline {

class Glossary;

/// The keys `source_language` and `target_language`.
const core::OptionTable<LanguagePair>& language_table();

/// The table has the keys `shortlist`, `shortlist_first` and `shortlist_best`.
struct ShortlistSettings {
  static constexpr const char* kNone = "none";  ///< disables the model's own shortlist
  /// A path that decoding::Shortlist::read() accepts, or kNone for no shortlist. If empty, a single model uses the
  /// shortlist of its folder, if there is one; an ensemble uses none.
  std::string path{};
  bool none() const noexcept { return path.empty() || path == kNone; }
  decoding::ShortlistLimits limits{};
};

/// The markup language of texts.
enum class Markup : std::uint8_t {
  kNone,  ///< nothing: they are text
  /// The text and its translation are fragments of HTML, or of XML with inline tags. docs/guides/markup.md lists what
  /// is translated and what is copied.
  kHtml,
};

/// How texts are translated. Settings that `search` and `shortlist` leave unset come from the model folder, otherwise
/// from the program's defaults.
struct TranslateOptions {
  /// The decoder may also be `mbr`: minimum Bayes risk.
  decoding::Search search{};
  /// Whether to ignore the search defaults and the shortlist of the model's folder.
  bool ignore_model_defaults = false;
  /// Whether to store scores, tokens, alignments and alternatives in Record::fields.
  bool details = false;
  /// Whether texts are pieces of the source tokenizer, separated by spaces, as PieceLines reads them. A piece outside
  /// the vocabulary is the unknown token. The end is added as for text, unless it is the last piece. A prefix,
  /// constraints and suppressed texts remain plain text. Not together with search.replace_unknown.
  bool input_pieces = false;
  /// Whether translations, including alternatives, are pieces of the target tokenizer, separated by spaces: the tokens
  /// of the hypothesis, including its prefix. Not together with search.replace_unknown.
  bool output_pieces = false;
  /// With kHtml, Record::sentences are ranges of the HTML, as `split` with the same markup marks them. Not together
  /// with pieces or `attention`.
  Markup markup = Markup::kNone;
  /// The attention of the best translations, computed in a separate pass. It is stored in Record::fields with
  /// `details`, and in files.
  AttentionSettings attention{};
  /// A record may override them.
  LanguagePair languages{};
  /// The text that every translation begins with. docs/concepts/decoding.md explains a prefix that ends inside a word.
  /// A record may override it.
  std::string target_prefix{};
  /// Texts that no translation may contain: as they are tokenised at the beginning of a text and after a space.
  std::vector<std::string> suppress{};
  /// Terms with required translations, wherever they occur. Requires beam search. Glossary::read() creates one.
  std::shared_ptr<const Glossary> glossary{};
  /// Texts that every translation must contain as whole words, in any order. Requires beam search.
  std::vector<std::string> constraints{};
  /// Whether to ignore the fields by which records set options of their translation: see RecordOptions.
  bool ignore_line_options = false;
  /// Read once per model: see Model::shortlist().
  ShortlistSettings shortlist{};
  /// A file with replacements of unknown tokens for search.replace_unknown, as UnknownDictionary::read() accepts.
  /// Empty: the source words replace them.
  std::string unknown_dictionary{};
  /// Replace the built-in strategies by a registered one, and add logits processors: see decoding::SearchPlan.
  decoding::SearchPlan::MakeStrategy make_strategy{};
  decoding::SearchPlan::MakeProcessors make_further_processors{};

  /// Returns `search` resolved, with precedence over the search defaults of a model folder. Error{kInvalidArgument} as
  /// decoding::resolve().
  decoding::DecodingOptions resolved(const decoding::Search& model_defaults) const;
  /// Returns the options of the search that runs: resolved() or, if the decoder is `mbr`, the search for its
  /// candidates.
  decoding::DecodingOptions searched(const decoding::Search& model_defaults) const;
  /// Returns searched(). Throws an OptionError{kInvalidArgument} for invalid values, and for options that this search
  /// does not use, unless the model folder has the same values.
  decoding::DecodingOptions checked_search(const decoding::Search& model_defaults) const;
  /// Returns the search that the options describe for this model. Error{kInvalidArgument} if they are invalid.
  decoding::SharedSearch plan(const ModelView& model) const;
  /// Returns the ranking of the search's hypotheses if the decoder is `mbr`, otherwise nullopt.
  std::optional<MbrRanking> mbr_ranking(const decoding::Search& model_defaults) const;
  /// Returns nullptr if the options name no dictionary. Throws as UnknownDictionary::read().
  std::shared_ptr<const UnknownDictionary> read_unknown_dictionary() const;
};

/// The part of an unfinished translation of a record that is known. Valid during the call that receives it.
struct PartialRecord {
  std::uint64_t line = 0;
  /// The final prefix of the translation, in whole characters. Greedy search and sampling decide token by token. A beam
  /// search decides the common prefix of all hypotheses that may still win, so it grows in leaps. With the decoder mbr,
  /// and after an unknown token that will be replaced, nothing is known before the sentence is done.
  std::string_view text{};
  /// The end of `text` that is new since the last call.
  std::string_view more{};
  /// For beam search: returns the rest of the leading hypothesis after `text`, which may still change. Computed on
  /// demand.
  std::function<std::string()> tail{};
};

/// One of the sentences, or parts of a long sentence, in which a record is translated. Valid during the call.
struct TranslatedSentence {
  std::uint64_t line = 0;
  std::size_t index = 0;  ///< in the record; sentences may end in any order
  std::size_t count = 1;
  std::string_view translation{};
};

/// How one record is translated. Unset members take the values of the translator's options. Unless ignore_line_options
/// is set, fields of the record, which are keys of a JSON line, override them:
/// - `source_language` and `target_language`: codes, if the model has a language table;
/// - `target_prefix`: a text;
/// - `suppress`: a text or a list of texts, in addition to those of the search;
/// - `constraints`: a list. An entry is a text that the translation must contain, or an object {source, target}, which
///   applies to sentences that contain the source. Its target is a text or a list of alternative texts;
/// - `decoding`: an object with options of the search.
/// An invalid field fails the record.
struct RecordOptions {
  /// Takes precedence over the search of the translator and over `plan`. A record's `decoding` takes precedence over
  /// it. With the decoder mbr, n_best is the number of translations, and the decoder and the options of mbr come from
  /// the translator. Submitting a record throws Error{kInvalidArgument} if the search is invalid.
  decoding::Search search{};
  /// Replaces the translator's search. Any number of records and translators may share a plan.
  decoding::SharedSearch plan{};
  /// If set, the hypotheses of the search are candidates, and the best of them by expected utility are returned. Used
  /// only with `plan`.
  std::optional<MbrRanking> mbr{};
  std::optional<bool> details{};
  /// As in TranslateOptions.
  std::optional<bool> input_pieces{};
  std::optional<bool> output_pieces{};
  /// With kHtml, on_partial is not called, and on_sentence gets text without tags. on_translations gets one
  /// translation, whose `parts` are texts without tags.
  std::optional<Markup> markup{};
  /// Not with `mbr`: it shows the hypothesis that the search ranks first.
  std::optional<AttentionSettings> attention{};
  std::optional<LanguagePair> languages{};
  /// The text that the translation of each sentence begins with. The record's field applies to the first sentence only.
  std::optional<std::string> target_prefix{};
  /// Texts that the translation must contain, and terms that it must use.
  std::optional<std::vector<std::string>> constraints{};
  std::shared_ptr<const Glossary> glossary{};
  std::optional<bool> ignore_line_options{};
  /// Used if the search replaces unknown tokens.
  std::shared_ptr<const UnknownDictionary> unknown_dictionary{};
  /// A stop request ends the record with Error{kInterrupted}.
  std::stop_token stop{};
  /// Called by workers before the record is done, whenever more of its translation is known or its end may change. For
  /// one record, at most one call of on_partial or on_sentence is active. Both must be quick and must not call the
  /// translator. An exception ends the record with that error.
  std::function<void(const PartialRecord&)> on_partial{};
  /// Called under the same rules with each complete sentence.
  std::function<void(const TranslatedSentence&)> on_sentence{};
  /// Called once under the same rules, before a record that did not fail is done: its translations as values, best
  /// first.
  std::function<void(std::vector<Translation>)> on_translations{};
};

/// The result of a record.
struct TranslatedRecord {
  Record record;
  bool split_for_length = false;
  /// Whether the text was a line of pieces with words outside the source vocabulary.
  bool has_unknown_pieces = false;
  /// The number of parts whose translation reached the length limit.
  std::size_t parts_cut = 0;
  /// The number of parts whose translation lacks a required term.
  std::size_t parts_lacking_terms = 0;
  /// The reason why there is no translation, unless the record itself is invalid.
  std::exception_ptr error;
};

class Translator;  // translator.h

/// A service over Translator::submit() that passes records on in input order. Memory is bounded: a record enters only
/// while less than kBytesInFlight of text is in flight. A record fails if the model's scores for it are not finite. The
/// example of Pipeline shows its use. It keeps a handle of the model.
class TranslateService final : public Service {
 public:
  static constexpr std::size_t kBytesInFlight = std::size_t{16} << 20;

  TranslateService(const Model& model, const TranslateOptions& options);
  ~TranslateService() override;

  /// Any number of runs may be active at a time.
  void run(RecordSource& source, RecordSink& sink, std::stop_source stop) override;

  /// Counts the records whose text was split for its length, and the translations that reached the length limit.
  void add_counts(LineCounts& counts) const override;
  /// `first_token_ms_p50` and so on: see engine::Latencies.
  void add_figures(std::vector<std::pair<std::string, double>>& figures) const override;

 private:
  Model model_;
  std::unique_ptr<Translator> translator_;
  std::atomic<std::uint64_t> records_split_ = 0;
  std::atomic<std::uint64_t> records_with_unknown_pieces_ = 0;
  std::atomic<std::uint64_t> translations_cut_ = 0;
  std::atomic<std::uint64_t> translations_lacking_terms_ = 0;
};

}  // namespace dragoman::pipeline
