#include "dragoman/pipeline/translate_service.h"

#include "reorder_buffer.h"
#include "sentence_queue.h"
#include "translation_work.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <dragoman/core/parallel.h>
#include <dragoman/decoding/model_stepper.h>

namespace dragoman::pipeline {
namespace {

using decoding::Hypothesis;
using decoding::Sentence;
using decoding::Supply;

/// One run of the service: what its reader, its workers and its emitter share.
class Run {
 public:
  Run(const TranslationModel& model, const TranslateOptions& options) : model_(model), options_(options) {}

  // --- reader ---

  void read_all(RecordSource& source) {
    while (wait_for_room()) {
      std::optional<Record> record = source.next();
      if (!record) break;
      enter(prepare_translation(model_, std::move(*record)));
    }
    const std::lock_guard lock(mutex_);
    input_ended_ = true;
    changed_.notify_all();
  }

  // --- workers ---

  Supply take(Sentence& sentence, bool may_wait) {
    std::unique_lock lock(mutex_);
    if (may_wait) changed_.wait(lock, [&] { return !waiting_.empty() || input_ended_ || aborted_; });
    if (aborted_) return Supply::kEnd;
    if (waiting_.empty()) return input_ended_ ? Supply::kEnd : Supply::kNone;
    const std::uint64_t id = waiting_.pop();
    const PartOf& place = places_.at(id);
    sentence.id = id;
    sentence.line = place.line_key;
    sentence.target_prefix.clear();
    sentence.source = works_.at(place.ticket).parts[place.part].source;
    return Supply::kSentence;
  }

  void deliver(std::uint64_t id, std::vector<Hypothesis> hypotheses) {
    std::unique_lock lock(mutex_);
    const PartOf place = places_.at(id);
    places_.erase(id);
    TranslationWork& work = works_.at(place.ticket);
    lock.unlock();
    // Outside of the lock: it decodes text. The part is this worker's, and works do not move.
    finish_part(model_, options_, std::move(hypotheses), work.parts[place.part]);
    lock.lock();
    if (--work.parts_open > 0) return;
    TranslationWork whole = std::move(work);
    works_.erase(place.ticket);
    lock.unlock();
    const std::size_t cut = finish_translation(model_, options_, whole);
    lock.lock();
    hit_length_limit += cut;
    complete(place.ticket, std::move(whole));
  }

  // --- emitter ---

  /// False if the sink takes no more.
  bool emit_all(RecordSink& sink) {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return finished_.ready() || aborted_ || (input_ended_ && emitted_ == entered_); });
      if (!finished_.ready()) return true;
      TranslationWork work = finished_.take();
      lock.unlock();
      if (!sink.put(std::move(work.record))) return false;
      lock.lock();
      ++emitted_;
      bytes_in_flight_ -= work.weight;
      changed_.notify_all();
    }
  }

  /// Frees everybody who waits. Of several errors the first is kept.
  void abort(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    aborted_ = true;
    changed_.notify_all();
  }
  void rethrow_error() const {
    if (error_) std::rethrow_exception(error_);
  }

  std::uint64_t records_split = 0;
  std::uint64_t hit_length_limit = 0;

 private:
  struct PartOf {
    std::uint64_t ticket;
    std::size_t part;
    std::uint64_t line_key;
  };

  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return aborted_ || bytes_in_flight_ < TranslateService::kBytesInFlight; });
    return !aborted_;
  }

  void enter(TranslationWork work) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t ticket = entered_++;
    records_split += work.split_for_length ? 1 : 0;
    bytes_in_flight_ += work.weight;
    if (work.parts.empty()) {
      finish_translation(model_, options_, work);
      complete(ticket, std::move(work));
      return;
    }
    for (std::size_t part = 0; part < work.parts.size(); ++part) {
      const std::uint64_t id = next_id_++;
      // Draws are keyed by line and part; 4096 parts of a line are apart before keys could meet those of another line.
      places_[id] = {ticket, part, work.record.line * 4096 + part % 4096};
      waiting_.push({work.parts[part].source.size(), id});
    }
    works_.emplace(ticket, std::move(work));
    changed_.notify_all();
  }

  void complete(std::uint64_t ticket, TranslationWork work) {
    finished_.put(ticket, std::move(work));
    changed_.notify_all();
  }

  const TranslationModel& model_;
  const TranslateOptions& options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  SentenceQueue waiting_;
  std::unordered_map<std::uint64_t, PartOf> places_;
  std::unordered_map<std::uint64_t, TranslationWork> works_;
  ReorderBuffer<TranslationWork> finished_;
  std::uint64_t next_id_ = 0;
  std::uint64_t entered_ = 0;
  std::uint64_t emitted_ = 0;
  std::size_t bytes_in_flight_ = 0;
  bool input_ended_ = false;
  bool aborted_ = false;
  std::exception_ptr error_;
};

/// One worker's ends of its decoding loop.
class WorkerPort final : public decoding::SentenceSource, public decoding::HypothesisSink {
 public:
  explicit WorkerPort(Run& run) : run_(&run) {}
  Supply next(Sentence& sentence, bool may_wait) override { return run_->take(sentence, may_wait); }
  void deliver(std::uint64_t id, std::vector<Hypothesis> hypotheses) override {
    run_->deliver(id, std::move(hypotheses));
  }

 private:
  Run* run_;
};

/// One for each worker; made by one thread, since factories of plugins need not bear more.
std::vector<std::unique_ptr<decoding::SearchStrategy>> make_strategies(const TranslateOptions& options) {
  std::vector<std::unique_ptr<decoding::SearchStrategy>> strategies;
  for (int i = 0; i < options.threads; ++i)
    strategies.push_back(options.make_strategy ? options.make_strategy() : decoding::make_strategy(options.decoding));
  return strategies;
}

void work(const runtime::Runtime& runtime, const TranslationModel& model, const TranslateOptions& options, Run& run,
          std::unique_ptr<decoding::SearchStrategy> strategy, const std::stop_token& stop) {
  core::SequentialExecutor executor;
  const auto context = runtime.make_context(options.device, executor);
  decoding::ModelStepper stepper(*model.model, *context);
  decoding::DecodingLoop loop(stepper, options.decoding, std::move(strategy), {}, options.limits);
  WorkerPort port(run);
  if (!loop.run(port, port, stop)) run.abort(nullptr);
}

}  // namespace

TranslateService::TranslateService(const runtime::Runtime& runtime, const TranslationModel& model,
                                   TranslateOptions options)
    : runtime_(&runtime), model_(model), options_(std::move(options)) {
  options_.threads = core::thread_count(options_.threads);
  decoding::check(options_.decoding, model_.model->spec());
}

TranslateService::~TranslateService() = default;

void TranslateService::add_counts(LineCounts& counts) const {
  counts.split_for_length += records_split_;
  counts.hit_length_limit += hit_length_limit_;
}

void TranslateService::run(RecordSource& source, RecordSink& sink, std::stop_source stop) {
  Run shared(model_, options_);
  const std::stop_callback on_stop(stop.get_token(), [&] { shared.abort(nullptr); });
  const auto guarded = [&](const auto& body) {
    try {
      body();
    } catch (...) {
      shared.abort(std::current_exception());
      stop.request_stop();  // the source may wait for input that never comes
    }
  };
  const auto emit_until_end = [&] {
    guarded([&] {
      if (!shared.emit_all(sink)) stop.request_stop();
    });
  };
  std::vector<std::unique_ptr<decoding::SearchStrategy>> strategies = make_strategies(options_);
  const auto work_until_end = [&](std::size_t worker) {
    guarded([&] { work(*runtime_, model_, options_, shared, std::move(strategies[worker]), stop.get_token()); });
  };
  {
    std::vector<std::jthread> threads;
    guarded([&] {
      threads.reserve(static_cast<std::size_t>(options_.threads) + 1);
      threads.push_back(core::start_thread("hands on translations", emit_until_end));
      threads.push_back(core::start_thread("translates", [&] { work_until_end(0); }));
      for (std::size_t i = 1; i < strategies.size(); ++i) {
        std::optional<std::jthread> worker = core::try_start_thread([&, i] { work_until_end(i); });
        if (!worker) break;
        threads.push_back(std::move(*worker));
      }
      shared.read_all(source);
    });
  }
  records_split_ += shared.records_split;
  hit_length_limit_ += shared.hit_length_limit;
  shared.rethrow_error();
}

}  // namespace dragoman::pipeline
