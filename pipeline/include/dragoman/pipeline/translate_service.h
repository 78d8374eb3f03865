#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/option_table.h>
#include <dragoman/decoding/shortlist.h>
#include <dragoman/engine/translation_engine.h>
#include <dragoman/formats/languages.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/pipeline/attention.h>
#include <dragoman/pipeline/ensemble.h>
#include <dragoman/pipeline/mbr.h>
#include <dragoman/pipeline/service.h>
#include <dragoman/pipeline/unknown_dictionary.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {

class Glossary;

/// The languages of a sentence, by the codes of the model's table; empty: the table's defaults.
struct LanguagePair {
  std::string source{};
  std::string target{};
};

/// What a translation needs of a loaded model. All const, shared by all workers; the owners must outlive the service.
struct TranslationModel {
  const nn::Seq2SeqModel* model = nullptr;
  const tokenizer::Tokenizer* source_tokenizer = nullptr;
  const tokenizer::Tokenizer* target_tokenizer = nullptr;
  /// What each sentence's translation is chosen from; nullptr: the whole vocabulary.
  const decoding::Shortlist* shortlist = nullptr;
  /// If not empty: all models, `model` first.
  decoding::Ensemble ensemble{};
  /// nullptr: nothing stands around the tokens of sentences.
  const formats::LanguageTable* languages = nullptr;

  decoding::Ensemble models() const {
    return ensemble.models.empty() ? decoding::Ensemble{.models = {model}} : ensemble;
  }
  /// What stands around the tokens of a sentence. Throws as formats::LanguageTable::tags().
  formats::SequenceTags tags(const LanguagePair& pair = {}) const {
    static const formats::LanguageTable none;
    return (languages != nullptr ? *languages : none).tags(pair.source, pair.target);
  }
  /// Of all models together.
  nn::SequenceSpec spec() const { return ensemble.models.empty() ? model->spec() : ensemble.spec(); }
};

/// The keys `source_language` and `target_language`.
const core::OptionTable<LanguagePair>& language_table();

/// The table has the keys `shortlist`, `shortlist_first` and `shortlist_best`.
struct ShortlistSettings {
  static constexpr const char* kNone = "none";  ///< what a user says who does not want the model's own
  std::string path{};                           ///< as decoding::Shortlist::read() takes it; empty, or kNone: none
  bool none() const noexcept { return path.empty() || path == kNone; }
  bool models_own = false;  ///< which an ensemble does without
  decoding::ShortlistLimits limits{};
};

struct TranslateOptions {
  /// The strategy may also be `mbr`, which `mbr` describes.
  decoding::DecodingOptions decoding{};
  MbrOptions mbr{};
  /// Whoever loads the models looks at it.
  EnsembleOptions ensemble{};
  decoding::LoopLimits limits{};
  /// Workers, each with its own decoding loop on one core; 0: as many as the process may keep busy. Where the operating
  /// system refuses to start so many, there are fewer.
  int threads = 0;
  /// Whether workers that have nothing to do share the steps of those that have: engine::EngineOptions.
  bool latency = true;
  tensor::Device device = tensor::Device::kCpu;
  /// What weights are multiplied in; nothing: what the model's folder says. Whoever loads the model packs it so.
  std::optional<tensor::ComputeChoice> compute{};
  /// Fill Record::fields with scores, tokens, alignments and alternatives.
  bool details = false;
  /// Attention of the best translations, in a pass of its own: into Record::fields with `details`, and into files.
  AttentionSettings attention{};
  /// A record may have its own.
  LanguagePair languages{};
  /// What every translation begins with, as text; docs/decoding.md says what that means inside of a word. A record may
  /// have its own.
  std::string target_prefix{};
  /// Texts that no translation may hold as they are tokenised, in front of it and behind a blank.
  std::vector<std::string> suppress{};
  /// Terms that must be translated by certain others wherever they occur; for beam search. Glossary::read() makes one.
  std::shared_ptr<const Glossary> glossary{};
  /// Texts that every translation must hold as whole words, in any order; for beam search.
  std::vector<std::string> constraints{};
  /// Whether records say nothing about their own translation: see RecordOptions.
  bool ignore_line_options = false;
  /// Whoever loads the model reads it.
  ShortlistSettings shortlist{};
  /// A file of what unknown tokens become where decoding.replace_unknown is set, as UnknownDictionary::read() takes it;
  /// empty: the source words themselves.
  std::string unknown_dictionary{};
  /// Whether the model may hold weights that are NaN or infinite; for research. Whoever loads the model looks at it.
  bool allow_non_finite = false;
  /// Replaces the built-in strategies, for one that a plugin registered, and adds logits processors, as
  /// decoding::Search has them.
  decoding::Search::MakeStrategy make_strategy{};
  decoding::Search::MakeProcessors make_further_processors{};

  /// The options of the search; where the strategy is `mbr`, of that for its candidates.
  decoding::DecodingOptions searched() const;
  /// The search that they describe, for a model with this target tokenizer; Error{kInvalidArgument} if it makes no
  /// sense.
  decoding::SharedSearch search(const TranslationModel& model) const;
  /// Where the strategy is `mbr`: what is done with what that search finds.
  std::optional<MbrRanking> mbr_ranking() const;
  /// nullptr if they name none. Throws as UnknownDictionary::read().
  std::shared_ptr<const UnknownDictionary> read_unknown_dictionary() const;
};

/// What is known of a record's translation while it is made. Valid during the call that it is given to.
struct PartialRecord {
  std::uint64_t line = 0;
  /// What the translation will begin with, whatever comes: whole characters. Greedy search and sampling decide token by
  /// token; of beam search it is what all hypotheses that may yet win have in common, and so comes in leaps. With the
  /// decoder mbr, and behind an unknown token that will be replaced, nothing is known before the sentence is done.
  std::string_view text{};
  /// The end of it: what the last call did not have yet.
  std::string_view more{};
  /// Of beam search: what the leading hypothesis has behind it, which may change. Worked out when it is called.
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
/// sense there fails the record.
struct RecordOptions {
  // What is left out is as the translator's options say.
  /// One search may be shared by any number of records and translators.
  decoding::SharedSearch search{};
  /// The hypotheses of the search are candidates, and what is returned are the best of them by expected utility. Goes
  /// with `search`: looked at only with one.
  std::optional<MbrRanking> mbr{};
  std::optional<bool> details{};
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
  /// Called by workers, before the record is done: whenever more of it is known or may have another tail, and with each
  /// sentence. Of a record
  /// one call at a time. They must be quick and must not call the translator; what they throw ends the record with that
  /// error.
  std::function<void(const PartialRecord&)> on_partial{};
  std::function<void(const TranslatedSentence&)> on_sentence{};
};

/// Translates records: text in, text out. What has no tokens becomes an empty text; what is longer than the model takes
/// is cut at blanks, translated part by part, and joined again. The workers of an engine that lives as long as the
/// service do it; a result does not depend on their number or on the order of the records. Memory is bounded: a record
/// enters only while less than kBytesInFlight of text is under way. A record for which the model's scores are not
/// finite numbers fails.
class TranslateService final : public Service {
 public:
  static constexpr std::size_t kBytesInFlight = std::size_t{16} << 20;

  /// `runtime` must outlive the service.
  TranslateService(const runtime::Runtime& runtime, const TranslationModel& model, const TranslateOptions& options);
  ~TranslateService() override;

  /// Any number of runs at a time.
  void run(RecordSource& source, RecordSink& sink, std::stop_source stop) override;

  /// Records whose text was cut into parts because it was too long, and translations that reached the length limit.
  void add_counts(LineCounts& counts) const override;
  /// `first_token_ms_p50` and so on: see engine::Latencies.
  void add_figures(std::vector<std::pair<std::string, double>>& figures) const override;

 private:
  TranslationModel model_;
  RecordOptions options_;
  engine::TranslationEngine engine_;
  std::atomic<std::uint64_t> records_split_ = 0;
  std::atomic<std::uint64_t> translations_cut_ = 0;
  std::atomic<std::uint64_t> translations_lacking_terms_ = 0;
};

}  // namespace dragoman::pipeline
