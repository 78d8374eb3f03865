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
  /// A path that decoding::Shortlist::read() takes, or kNone for no shortlist. If it is empty, a single model uses its
  /// own shortlist if it has one; an ensemble uses none.
  std::string path{};
  bool none() const noexcept { return path.empty() || path == kNone; }
  decoding::ShortlistLimits limits{};
};

/// How texts are translated. Settings that `search` and `shortlist` leave unset come from the model folder, else from
/// the program's defaults.
struct TranslateOptions {
  /// Its decoder may also be `mbr`: minimum Bayes risk.
  decoding::Search search{};
  /// Whether the search defaults and the shortlist of the model's folder are left alone.
  bool ignore_model_defaults = false;
  /// Fill Record::fields with scores, tokens, alignments and alternatives.
  bool details = false;
  /// Whether texts are pieces of the source tokenizer with spaces between them, as PieceLines reads them. A piece that
  /// the tokenizer lacks is the unknown token. The end is added as to text, unless it is the last piece. A prefix,
  /// constraints and suppressed texts are text all the same. Not together with search.replace_unknown.
  bool input_pieces = false;
  /// Whether translations, alternatives included, are pieces of the target tokenizer with spaces between them: the
  /// tokens of the hypothesis, its prefix included. Not together with search.replace_unknown.
  bool output_pieces = false;
  /// Attention of the best translations, in a pass of its own: into Record::fields with `details`, and into files.
  AttentionSettings attention{};
  /// A record may have its own.
  LanguagePair languages{};
  /// What every translation begins with, as text; docs/concepts/decoding.md says what that means inside of a word. A
  /// record may have its own.
  std::string target_prefix{};
  /// Texts that no translation may hold as they are tokenised, in front of it and behind a blank.
  std::vector<std::string> suppress{};
  /// Terms that must be translated by certain others wherever they occur; for beam search. Glossary::read() makes one.
  std::shared_ptr<const Glossary> glossary{};
  /// Texts that every translation must hold as whole words, in any order; for beam search.
  std::vector<std::string> constraints{};
  /// Whether records say nothing about their own translation: see RecordOptions.
  bool ignore_line_options = false;
  /// Read once per model: Model::shortlist().
  ShortlistSettings shortlist{};
  /// A file of what unknown tokens become where search.replace_unknown is set, as UnknownDictionary::read() takes it;
  /// empty: the source words themselves.
  std::string unknown_dictionary{};
  /// Replaces the built-in strategies, for one that a plugin registered, and adds logits processors, as
  /// decoding::SearchPlan has them.
  decoding::SearchPlan::MakeStrategy make_strategy{};
  decoding::SearchPlan::MakeProcessors make_further_processors{};

  /// Returns `search` resolved, with precedence over the search defaults of a model folder. Error{kInvalidArgument} as
  /// decoding::resolve().
  decoding::DecodingOptions resolved(const decoding::Search& model_defaults) const;
  /// Returns the options of the search that runs: resolved() or, if the decoder is `mbr`, the search for its
  /// candidates.
  decoding::DecodingOptions searched(const decoding::Search& model_defaults) const;
  /// Returns searched(). Throws an OptionError{kInvalidArgument} for values that make no sense, and for options that
  /// this search does not look at, unless the model folder has the same values.
  decoding::DecodingOptions checked_search(const decoding::Search& model_defaults) const;
  /// Returns the search that the options describe for this model. Error{kInvalidArgument} if they are invalid.
  decoding::SharedSearch plan(const ModelView& model) const;
  /// Where the decoder is `mbr`: what is done with the hypotheses of that search.
  std::optional<MbrRanking> mbr_ranking(const decoding::Search& model_defaults) const;
  /// nullptr if they name none. Throws as UnknownDictionary::read().
  std::shared_ptr<const UnknownDictionary> read_unknown_dictionary() const;
};

/// What is known of a record's translation while it is made. Valid during the call that it is given to.
struct PartialRecord {
  std::uint64_t line = 0;
  /// The prefix that the final translation is certain to have, in whole characters. Greedy search and sampling decide
  /// token by token. A beam search decides the prefix that is common to all hypotheses that may yet win, so it advances
  /// in leaps. With the decoder mbr, and after an unknown token that will be replaced, nothing is known before the
  /// sentence is done.
  std::string_view text{};
  /// The end of `text` that the last call did not have.
  std::string_view more{};
  /// For beam search: returns the rest of the leading hypothesis after `text`, which may change. It is computed when
  /// called.
  std::function<std::string()> tail{};
};

/// One of the sentences, or parts for their length, that a record is translated in. Valid during the call.
struct TranslatedSentence {
  std::uint64_t line = 0;
  std::size_t index = 0;  ///< in the record, whose sentences end in any order
  std::size_t count = 1;
  std::string_view translation{};
};

/// How one record is translated. Unless that is ignored, a record may change it by its own fields, which are keys of a
/// JSON line: `source_language` and `target_language`, codes, where the model has a table of them; `target_prefix`, a
/// text; `suppress`, a text or a list of texts, besides those of the search; `constraints`, a list of texts that the
/// translation must hold, or of objects {source, target} that say so of sentences which hold the source, a target being
/// a text or a list of texts any of which will do; `decoding`, an object with options of the search. What makes no
/// sense there fails the record. Members that are unset have the values of the translator's options.
struct RecordOptions {
  /// Takes precedence over the search of the translator, or over `plan`; a record's `decoding` takes precedence over
  /// it. With the decoder mbr, n_best is the number of translations, and the decoder and the options of mbr come from
  /// the translator. Submitting a record throws Error{kInvalidArgument} if the search is invalid.
  decoding::Search search{};
  /// Replaces the translator's search. Any number of records and translators may share one.
  decoding::SharedSearch plan{};
  /// The hypotheses of the search are candidates, and what is returned are the best of them by expected utility. Goes
  /// with `plan`: used only with one.
  std::optional<MbrRanking> mbr{};
  std::optional<bool> details{};
  /// As in TranslateOptions.
  std::optional<bool> input_pieces{};
  std::optional<bool> output_pieces{};
  /// Not with `mbr`: it is of what the search finds best.
  std::optional<AttentionSettings> attention{};
  std::optional<LanguagePair> languages{};
  /// What each of its sentences' translations begins with. The record's own field is what the first one begins with.
  std::optional<std::string> target_prefix{};
  /// What it must hold, and which terms it must use.
  std::optional<std::vector<std::string>> constraints{};
  std::shared_ptr<const Glossary> glossary{};
  std::optional<bool> ignore_line_options{};
  /// Read if the search replaces unknown tokens.
  std::shared_ptr<const UnknownDictionary> unknown_dictionary{};
  /// When it asks, the record ends with Error{kInterrupted}.
  std::stop_token stop{};
  /// Called by workers before the record is done, whenever more of its translation is known or its end may change. One
  /// record has one call of on_partial or on_sentence at a time. Both must be quick and must not call the translator.
  /// An exception ends the record with that error.
  std::function<void(const PartialRecord&)> on_partial{};
  /// Called in the same way with each sentence that is complete.
  std::function<void(const TranslatedSentence&)> on_sentence{};
  /// Called once, before a record that did not fail is done: its translations as values, best first. Under the same
  /// rules.
  std::function<void(std::vector<Translation>)> on_translations{};
};

/// The result of a record.
struct TranslatedRecord {
  Record record;
  bool split_for_length = false;
  /// Whether it is a line of pieces with words that the source tokenizer does not have.
  bool has_unknown_pieces = false;
  /// Parts whose translation reached the length limit.
  std::size_t parts_cut = 0;
  /// Parts whose translation lacks a required term.
  std::size_t parts_lacking_terms = 0;
  /// Why there is no translation, unless the record itself is at fault.
  std::exception_ptr error;
};

class Translator;  // translator.h

/// The service over Translator::submit(): hands on records in the order in which they came. Memory is bounded: a record
/// enters only while less than kBytesInFlight of text is under way. A record for which the model's scores are not
/// finite numbers fails.
class TranslateService final : public Service {
 public:
  static constexpr std::size_t kBytesInFlight = std::size_t{16} << 20;

  TranslateService(const Model& model, const TranslateOptions& options);
  ~TranslateService() override;

  /// Any number of runs at a time.
  void run(RecordSource& source, RecordSink& sink, std::stop_source stop) override;

  /// Records whose text was cut into parts because it was too long, and translations that reached the length limit.
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
