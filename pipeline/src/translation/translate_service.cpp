#include "dragoman/pipeline/translate_service.h"

#include "dragoman/pipeline/translator.h"
#include "record_translator.h"
#include "stream/reorder_buffer.h"
#include "target_terms.h"

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/parallel.h>

namespace dragoman::pipeline {
namespace {

/// One run of the service: the state that its reader, the engine's workers and its emitter share.
class Run {
 public:
  /// `streams`: whether the known beginnings of unfinished records are passed on.
  void read_all(RecordSource& source, Translator& translator, bool streams) {
    while (wait_for_room()) {
      std::optional<Record> record = source.next();
      if (!record) break;
      const std::size_t weight = kRecordOverhead + record->weight();
      const std::uint64_t ticket = enter(weight);
      RecordOptions own{.stop = cancelled_.get_token()};
      if (streams) own.on_partial = [this, ticket](const PartialRecord& partial) { keep_beginning(ticket, partial); };
      try {
        translator.submit(std::move(*record), std::move(own), [this, ticket, weight](TranslatedRecord result) {
          end(ticket, weight, std::move(result));
          leave();
        });
      } catch (...) {
        leave();  // the callback is not called
        throw;
      }
    }
    const std::lock_guard lock(mutex_);
    input_ended_ = true;
    changed_.notify_all();
  }

  /// Returns false if the sink accepts no more.
  bool emit_all(RecordSink& sink) {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] {
        return finished_.ready() || !beginning_.empty() || aborted_ || (input_ended_ && emitted_ == entered_);
      });
      if (!finished_.ready() && !beginning_.empty()) {
        const std::string beginning = std::exchange(beginning_, {});
        lock.unlock();
        if (!sink.put_beginning(beginning)) return false;
        continue;
      }
      if (!finished_.ready()) return true;
      Finished finished = finished_.take();
      lock.unlock();
      if (!sink.put(std::move(finished.record))) return false;
      lock.lock();
      ++emitted_;
      begin_next();
      const bool was_full = is_full();
      bytes_in_flight_ -= finished.weight;
      if (was_full && !is_full()) changed_.notify_all();
    }
  }

  /// Ends all work in progress, and wakes all waiting threads. The first of several errors is kept.
  void abort(std::exception_ptr error) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::move(error);
      aborted_ = true;
      changed_.notify_all();
    }
    cancelled_.request_stop();
  }
  /// Returns when no record is in flight.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return under_way_ == 0; });
  }
  void rethrow_error() {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }

  std::uint64_t records_split = 0;
  std::uint64_t records_with_unknown_pieces = 0;
  std::uint64_t translations_cut = 0;
  std::uint64_t translations_lacking_terms = 0;

 private:
  /// Estimated bytes of a record in addition to its text.
  static constexpr std::size_t kRecordOverhead = 512;

  struct Finished {
    Record record;
    std::size_t weight;
  };

  /// Returns whether only the record is at fault, and marks it as failed: its request, or a plugin's request for it, is
  /// invalid.
  static bool is_its_own_failure(TranslatedRecord& result) {
    try {
      std::rethrow_exception(result.error);
    } catch (const core::Error& error) {
      if (error.code() != core::ErrorCode::kInvalidArgument && error.code() != core::ErrorCode::kBadInput) return false;
      result.record.mark_failed(error.what());
      return true;
    } catch (...) {
      return false;
    }
  }

  bool is_full() const { return bytes_in_flight_ >= TranslateService::kBytesInFlight; }
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return aborted_ || !is_full(); });
    return !aborted_;
  }

  std::uint64_t enter(std::size_t weight) {
    const std::lock_guard lock(mutex_);
    bytes_in_flight_ += weight;
    ++under_way_;
    return entered_++;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--under_way_ == 0) changed_.notify_all();
  }

  /// Appends to the beginning of a record. It is passed on immediately if it is the record's turn, otherwise later.
  void keep_beginning(std::uint64_t ticket, const PartialRecord& partial) {
    if (partial.more.empty()) return;
    const std::lock_guard lock(mutex_);
    (ticket == emitted_ ? beginning_ : beginnings_[ticket]) += partial.more;
    if (ticket == emitted_) changed_.notify_all();
  }
  /// Passes the turn to the next record.
  void begin_next() {
    beginning_.clear();
    if (auto kept = beginnings_.extract(emitted_)) beginning_ = std::move(kept.mapped());
  }

  /// After an abort, records fail because they were cancelled.
  void fail(std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      if (aborted_) return;
    }
    abort(std::move(error));
  }

  void end(std::uint64_t ticket, std::size_t weight, TranslatedRecord result) noexcept {
    try {
      if (result.error && !is_its_own_failure(result)) return fail(result.error);
      const std::lock_guard lock(mutex_);
      records_split += result.split_for_length ? 1 : 0;
      records_with_unknown_pieces += result.has_unknown_pieces ? 1 : 0;
      translations_cut += result.parts_cut;
      translations_lacking_terms += result.parts_lacking_terms;
      finished_.put(ticket, {std::move(result.record), weight});
      if (finished_.ready()) changed_.notify_all();  // most records finish while an earlier one is unfinished
    } catch (...) {
      abort(std::current_exception());
    }
  }

  std::stop_source cancelled_;
  std::mutex mutex_;
  std::condition_variable changed_;
  ReorderBuffer<Finished> finished_;
  std::string beginning_;                            ///< of the next record, not passed on yet
  std::map<std::uint64_t, std::string> beginnings_;  ///< of the records after it
  std::uint64_t entered_ = 0;
  std::uint64_t emitted_ = 0;
  std::uint64_t under_way_ = 0;
  std::size_t bytes_in_flight_ = 0;
  bool input_ended_ = false;
  bool aborted_ = false;
  std::exception_ptr error_;
};

}  // namespace

decoding::DecodingOptions TranslateOptions::resolved(const decoding::Search& model_defaults) const {
  return ignore_model_defaults ? decoding::resolve({&search}) : decoding::resolve({&search, &model_defaults});
}

decoding::DecodingOptions TranslateOptions::searched(const decoding::Search& model_defaults) const {
  decoding::DecodingOptions options = resolved(model_defaults);
  if (options.strategy != decoding::kMbr) return options;
  const std::int32_t wanted = options.n_best;
  const bool samples = options.mbr.candidates == MbrCandidates::kSamples;
  options.strategy = samples ? "sampling" : "beam";
  options.n_best = samples ? options.mbr.samples : options.beam_size;
  const char* const candidates = samples ? "mbr_samples" : "beam_size";
  core::require_option(wanted <= options.n_best, "n_best", core::ErrorCode::kInvalidArgument,
                       "n_best is {}, but there are {} candidates to choose from; raise `{}`", wanted, options.n_best,
                       candidates);
  core::require_option(!attention.kind, "attention", core::ErrorCode::kInvalidArgument,
                       "attention: with the decoder mbr there is none to show; leave it out, or use `alignment`");
  return options;
}

namespace {

/// decoding::require_all_used() for minimum Bayes risk.
void require_mbr_used(const decoding::DecodingOptions& options, const decoding::MbrOptions& usual) {
  const decoding::MbrOptions& mbr = options.mbr;
  const auto require_used = [](bool changed, const char* key, bool looked_at, const char* where) {
    core::require_option(!changed || looked_at, key, core::ErrorCode::kInvalidArgument,
                         "{}: only {} looks at it; leave it out, or choose that", key, where);
  };
  const bool used = options.strategy == decoding::kMbr;
  const char* const search = "the decoder mbr";
  require_used(mbr.candidates != usual.candidates, "mbr_candidates", used, search);
  require_used(mbr.utility != usual.utility, "mbr_utility", used, search);
  require_used(mbr.samples != usual.samples, "mbr_samples", used && mbr.candidates == MbrCandidates::kSamples,
               "the decoder mbr with samples as candidates");
}

}  // namespace

decoding::DecodingOptions TranslateOptions::checked_search(const decoding::Search& model_defaults) const {
  decoding::DecodingOptions usual;
  if (!ignore_model_defaults) usual = decoding::resolve({&model_defaults});
  decoding::DecodingOptions options = searched(model_defaults);
  decoding::check(options);
  decoding::require_all_used(options, usual);
  require_mbr_used(resolved(model_defaults), usual.mbr);
  return options;
}

std::optional<MbrRanking> TranslateOptions::mbr_ranking(const decoding::Search& model_defaults) const {
  const decoding::DecodingOptions options = resolved(model_defaults);
  if (options.strategy != decoding::kMbr) return std::nullopt;
  return MbrRanking{.utility = options.mbr.utility,
                    .weighted = options.mbr.candidates == MbrCandidates::kBeam,
                    .n_best = options.n_best};
}

decoding::SharedSearch TranslateOptions::plan(const ModelView& model) const {
  decoding::DecodingOptions options = searched(model.search_defaults);
  add_suppressed(model, suppress, options);
  if (model.languages != nullptr) options.given_tokens = model.languages->tokens_of_target();
  if (!make_strategy) decoding::make_strategy(options);  // report invalid options now
  return std::make_shared<const decoding::SearchPlan>(std::move(options), make_strategy, make_further_processors);
}

namespace {

/// Rejects options that no line could satisfy, so that lines do not fail for them.
void require_possible(const ModelView& model, const TranslateOptions& options) {
  for (const std::string& language : {options.languages.source, options.languages.target})
    if (!language.empty() && (model.languages == nullptr || model.languages->find(language) == nullptr))
      model.tags(options.languages);  // throws the error
  const char* option = "target_prefix";
  try {
    prefix_tokens(model, options.target_prefix);
    option = "constraints";
    for (const std::string& text : options.constraints) term_tokens(model, text);
  } catch (const core::Error& error) {
    core::fail_option(option, error.code(), "{}: {}", option, error.what());
  }
}

}  // namespace

void require_text_for(const decoding::DecodingOptions& search, bool input_pieces, bool output_pieces) {
  const auto require = [&](bool pieces, const char* key, const char* what) {
    core::require_option(!pieces || !search.replace_unknown, "replace_unknown", core::ErrorCode::kInvalidArgument,
                         "replace_unknown: puts words of the source into the text of the translation, but {}; leave it "
                         "or `{}` out",
                         what, key);
  };
  require(input_pieces, "input_pieces", "the source is given as pieces");
  require(output_pieces, "output_pieces", "the translation is written as pieces");
}

void require_possible_markup(Markup markup, bool input_pieces, bool output_pieces, const AttentionSettings& attention) {
  const auto require = [&](bool excluded, const char* key, const char* what) {
    core::require_option(markup == Markup::kNone || !excluded, "markup", core::ErrorCode::kInvalidArgument,
                         "markup: is about text, but {}; leave it or `{}` out", what, key);
  };
  require(input_pieces, "input_pieces", "the source is given as pieces");
  require(output_pieces, "output_pieces", "the translation is written as pieces");
  require(attention.kind.has_value(), "attention", "the attention of its parts places the tags");
}

RecordOptions record_options(const ModelView& model, const TranslateOptions& options) {
  require_possible(model, options);
  require_possible_markup(options.markup, options.input_pieces, options.output_pieces, options.attention);
  require_text_for(options.resolved(model.search_defaults), options.input_pieces, options.output_pieces);
  return {.plan = options.plan(model),
          .mbr = options.mbr_ranking(model.search_defaults),
          .details = options.details,
          .input_pieces = options.input_pieces,
          .output_pieces = options.output_pieces,
          .markup = options.markup,
          .attention = options.attention,
          .languages = options.languages,
          .target_prefix = options.target_prefix,
          .constraints = options.constraints,
          .glossary = options.glossary,
          .ignore_line_options = options.ignore_line_options,
          .unknown_dictionary = options.read_unknown_dictionary()};
}

std::shared_ptr<const UnknownDictionary> TranslateOptions::read_unknown_dictionary() const {
  if (unknown_dictionary.empty()) return nullptr;
  return std::make_shared<const UnknownDictionary>(UnknownDictionary::read(unknown_dictionary));
}

TranslateService::TranslateService(const Model& model, const TranslateOptions& options)
    : model_(model), translator_(std::make_unique<Translator>(model, options)) {}

TranslateService::~TranslateService() = default;

void TranslateService::add_counts(LineCounts& counts) const {
  counts.split_for_length += records_split_;
  counts.with_unknown_pieces += records_with_unknown_pieces_;
  counts.translations_cut += translations_cut_;
  counts.translations_lacking_terms += translations_lacking_terms_;
}

void TranslateService::add_figures(std::vector<std::pair<std::string, double>>& figures) const {
  const engine::Latencies latencies = model_.engine().latencies();
  const auto add = [&](const std::string& name, const engine::LatencySummary& summary) {
    if (summary.count == 0) return;
    figures.emplace_back(name + "_ms_p50", summary.p50);
    figures.emplace_back(name + "_ms_p95", summary.p95);
    figures.emplace_back(name + "_ms_max", summary.max);
  };
  add("first_token", latencies.first_token);
  add("next_token", latencies.next_token);
}

void TranslateService::run(RecordSource& source, RecordSink& sink, std::stop_source stop) {
  Run shared;
  {
    const std::stop_callback on_stop(stop.get_token(), [&] { shared.abort(nullptr); });
    const auto guarded = [&](const auto& body) {
      try {
        body();
      } catch (...) {
        shared.abort(std::current_exception());
        stop.request_stop();  // the source may wait for input that never comes
      }
    };
    std::jthread emitter;
    guarded([&] {
      emitter = core::start_thread("hands on translations", [&] {
        guarded([&] {
          if (!shared.emit_all(sink)) stop.request_stop();
          shared.rethrow_error();
        });
      });
      shared.read_all(source, *translator_, sink.takes_beginnings());
    });
    if (emitter.joinable()) emitter.join();
    shared.wait();
  }
  records_split_ += shared.records_split;
  records_with_unknown_pieces_ += shared.records_with_unknown_pieces;
  translations_cut_ += shared.translations_cut;
  translations_lacking_terms_ += shared.translations_lacking_terms;
  shared.rethrow_error();
}

}  // namespace dragoman::pipeline
