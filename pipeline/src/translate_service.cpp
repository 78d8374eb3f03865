#include "dragoman/pipeline/translate_service.h"

#include "record_translator.h"
#include "reorder_buffer.h"

#include <condition_variable>
#include <exception>
#include <mutex>

#include <dragoman/core/parallel.h>

namespace dragoman::pipeline {
namespace {

/// One run of the service: what its reader, the engine's workers and its emitter share.
class Run {
 public:
  explicit Run(const TranslationModel& model) : translator_(model) {}

  void read_all(RecordSource& source, engine::Client& client, const RecordOptions& options) {
    while (wait_for_room()) {
      std::optional<Record> record = source.next();
      if (!record) break;
      const std::size_t weight = kRecordOverhead + record->weight();
      const std::uint64_t ticket = enter(weight);
      translator_.submit(client, std::move(*record), options, [this, ticket, weight](TranslatedRecord result) {
        if (result.error) return fail(result.error);
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
      changed_.wait(lock, [&] { return finished_.ready() || aborted_ || (input_ended_ && emitted_ == entered_); });
      if (!finished_.ready()) return true;
      Finished finished = finished_.take();
      lock.unlock();
      if (!sink.put(std::move(finished.record))) return false;
      lock.lock();
      ++emitted_;
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

 private:
  /// Bookkeeping of a record besides its text.
  static constexpr std::size_t kRecordOverhead = 512;

  struct Finished {
    Record record;
    std::size_t weight;
  };

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
  std::uint64_t entered_ = 0;
  std::uint64_t emitted_ = 0;
  std::size_t bytes_in_flight_ = 0;
  bool input_ended_ = false;
  bool aborted_ = false;
  std::exception_ptr error_;
};

}  // namespace

decoding::SharedSearch TranslateOptions::search() const {
  if (make_strategy) return std::make_shared<const decoding::Search>(decoding, make_strategy, make_further_processors);
  const auto built_in = [options = decoding] { return decoding::make_strategy(options); };
  return std::make_shared<const decoding::Search>(decoding, built_in, make_further_processors);
}

std::shared_ptr<const UnknownDictionary> TranslateOptions::read_unknown_dictionary() const {
  if (unknown_dictionary.empty()) return nullptr;
  return std::make_shared<const UnknownDictionary>(UnknownDictionary::read(unknown_dictionary));
}

TranslateService::TranslateService(const runtime::Runtime& runtime, const TranslationModel& model,
                                   const TranslateOptions& options)
    : model_(model),
      options_{.search = options.search(),
               .details = options.details,
               .attention = options.attention,
               .unknown_dictionary = options.read_unknown_dictionary()},
      engine_(runtime, *model.model, {.threads = options.threads, .device = options.device, .limits = options.limits}) {
  options_.search->check(model_.model->spec());
}

TranslateService::~TranslateService() = default;

void TranslateService::add_counts(LineCounts& counts) const {
  counts.split_for_length += records_split_;
  counts.translations_cut += translations_cut_;
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
      shared.read_all(source, client, options_);
    });
  }
  records_split_ += shared.records_split;
  translations_cut_ += shared.translations_cut;
  shared.rethrow_error();
}

}  // namespace dragoman::pipeline
