#include "dragoman/pipeline/translate_service.h"

#include "record_translator.h"
#include "reorder_buffer.h"
#include "target_terms.h"

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>

namespace dragoman::pipeline {
namespace {

/// One run of the service: what its reader, the engine's workers and its emitter share.
class Run {
 public:
  explicit Run(const TranslationModel& model) : translator_(model) {}

  /// `streams`: what is known of records before they are done is handed on, too.
  void read_all(RecordSource& source, engine::Client& client, const RecordOptions& options, bool streams) {
    while (wait_for_room()) {
      std::optional<Record> record = source.next();
      if (!record) break;
      const std::size_t weight = kRecordOverhead + record->weight();
      const std::uint64_t ticket = enter(weight);
      RecordOptions own = options;
      if (streams) own.on_partial = [this, ticket](const PartialRecord& partial) { keep_beginning(ticket, partial); };
      translator_.submit(client, std::move(*record), std::move(own), [this, ticket, weight](TranslatedRecord result) {
        if (result.error && !is_its_own_failure(result)) return fail(result.error);
        finish(ticket, weight, std::move(result));
      });
    }
    const std::lock_guard lock(mutex_);
    input_ended_ = true;
    changed_.notify_all();
  }

  /// False if the sink takes no more.
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
      bytes_in_flight_ -= finished.weight;
      changed_.notify_all();
    }
  }

  /// Frees everybody who waits. Of several errors the first is kept.
  void abort(std::exception_ptr error) noexcept {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    aborted_ = true;
    changed_.notify_all();
  }
  void rethrow_error() {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }

  std::uint64_t records_split = 0;
  std::uint64_t translations_cut = 0;
  std::uint64_t translations_lacking_terms = 0;

 private:
  /// Bookkeeping of a record besides its text.
  static constexpr std::size_t kRecordOverhead = 512;

  struct Finished {
    Record record;
    std::size_t weight;
  };

  /// Whether the record alone is to blame, which is then a failed one: what it, or a plugin for it, demands makes no
  /// sense.
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

  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return aborted_ || bytes_in_flight_ < TranslateService::kBytesInFlight; });
    return !aborted_;
  }

  std::uint64_t enter(std::size_t weight) {
    const std::lock_guard lock(mutex_);
    bytes_in_flight_ += weight;
    return entered_++;
  }

  /// Of the record whose turn it is, to be handed on at once; of others, kept until then.
  void keep_beginning(std::uint64_t ticket, const PartialRecord& partial) {
    if (partial.more.empty()) return;
    const std::lock_guard lock(mutex_);
    (ticket == emitted_ ? beginning_ : beginnings_[ticket]) += partial.more;
    if (ticket == emitted_) changed_.notify_all();
  }
  /// The turn has come to the next record.
  void begin_next() {
    beginning_.clear();
    if (auto kept = beginnings_.extract(emitted_)) beginning_ = std::move(kept.mapped());
  }

  /// After an abort records fail because they were cancelled.
  void fail(std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      if (aborted_) return;
    }
    abort(std::move(error));
  }

  void finish(std::uint64_t ticket, std::size_t weight, TranslatedRecord result) {
    try {
      const std::lock_guard lock(mutex_);
      records_split += result.split_for_length ? 1 : 0;
      translations_cut += result.parts_cut;
      translations_lacking_terms += result.parts_lacking_terms;
      finished_.put(ticket, {std::move(result.record), weight});
      changed_.notify_all();
    } catch (...) {
      abort(std::current_exception());
    }
  }

  RecordTranslator translator_;
  std::mutex mutex_;
  std::condition_variable changed_;
  ReorderBuffer<Finished> finished_;
  std::string beginning_;                            ///< of the next record, not yet handed on
  std::map<std::uint64_t, std::string> beginnings_;  ///< of those behind it
  std::uint64_t entered_ = 0;
  std::uint64_t emitted_ = 0;
  std::size_t bytes_in_flight_ = 0;
  bool input_ended_ = false;
  bool aborted_ = false;
  std::exception_ptr error_;
};

}  // namespace

decoding::DecodingOptions TranslateOptions::searched() const {
  if (decoding.strategy != kMbr) return decoding;
  decoding::DecodingOptions options = decoding;
  const bool samples = mbr.candidates == MbrCandidates::kSamples;
  options.strategy = samples ? "sampling" : "beam";
  options.n_best = samples ? mbr.samples : options.beam_size;
  core::require(decoding.n_best <= options.n_best, core::ErrorCode::kInvalidArgument,
                "n_best is {}, but there are {} candidates to choose from; raise {}", decoding.n_best, options.n_best,
                samples ? "mbr_samples" : "beam_size");
  core::require(!attention.kind, core::ErrorCode::kInvalidArgument,
                "attention: with the decoder mbr there is none to show; leave it out, or use `alignment`");
  return options;
}

std::optional<MbrRanking> TranslateOptions::mbr_ranking() const {
  if (decoding.strategy != kMbr) return std::nullopt;
  return MbrRanking{
      .utility = mbr.utility, .weighted = mbr.candidates == MbrCandidates::kBeam, .n_best = decoding.n_best};
}

decoding::SharedSearch TranslateOptions::search(const TranslationModel& model) const {
  decoding::DecodingOptions options = searched();
  add_suppressed(model, suppress, options);
  if (model.languages != nullptr) options.given_tokens = model.languages->tokens_of_target();
  if (!make_strategy) decoding::make_strategy(options);  // what is wrong with the options is better known now
  return std::make_shared<const decoding::Search>(std::move(options), make_strategy, make_further_processors);
}

namespace {

/// What no line could have is no line's failure.
void require_possible(const TranslationModel& model, const TranslateOptions& options) {
  for (const std::string& language : {options.languages.source, options.languages.target})
    if (!language.empty() && (model.languages == nullptr || model.languages->find(language) == nullptr))
      model.tags(options.languages);  // which says so
  const char* option = "target_prefix";
  try {
    prefix_tokens(model, options.target_prefix);
    option = "constraints";
    for (const std::string& text : options.constraints) term_tokens(model, text);
  } catch (const core::Error& error) {
    core::fail(error.code(), "{}: {}", option, error.what());
  }
}

}  // namespace

RecordOptions record_options(const TranslationModel& model, const TranslateOptions& options) {
  require_possible(model, options);
  return {.search = options.search(model),
          .mbr = options.mbr_ranking(),
          .details = options.details,
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

TranslateService::TranslateService(const runtime::Runtime& runtime, const TranslationModel& model,
                                   const TranslateOptions& options)
    : model_(model),
      options_(record_options(model, options)),
      engine_(runtime, model.models(),
              {.threads = options.threads,
               .latency = options.latency,
               .device = options.device,
               .limits = options.limits}) {
  options_.search->check(engine_.spec());
}

TranslateService::~TranslateService() = default;

void TranslateService::add_counts(LineCounts& counts) const {
  counts.split_for_length += records_split_;
  counts.translations_cut += translations_cut_;
  counts.translations_lacking_terms += translations_lacking_terms_;
}

void TranslateService::add_figures(std::vector<std::pair<std::string, double>>& figures) const {
  const engine::Latencies latencies = engine_.latencies();
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
  Run shared(model_);
  {
    engine::Client client(engine_);
    const auto end = [&](std::exception_ptr error) {
      shared.abort(std::move(error));
      client.cancel();
    };
    const std::stop_callback on_stop(stop.get_token(), [&] { end(nullptr); });
    const auto guarded = [&](const auto& body) {
      try {
        body();
      } catch (...) {
        end(std::current_exception());
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
      shared.read_all(source, client, options_, sink.takes_beginnings());
    });
  }
  records_split_ += shared.records_split;
  translations_cut_ += shared.translations_cut;
  translations_lacking_terms_ += shared.translations_lacking_terms;
  shared.rethrow_error();
}

}  // namespace dragoman::pipeline
