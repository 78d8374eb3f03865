#include "dragoman/engine/translation_engine.h"

#include "request_queue.h"
#include "worker.h"

#include <deque>

#include <dragoman/core/error.h>

namespace dragoman::engine {
namespace {

/// The estimated bytes of a request in addition to its tokens.
constexpr std::size_t kRequestOverhead = 256;

std::size_t bytes_of(const TranslationRequest& request) {
  std::size_t tokens = request.source.size() + request.target_prefix.size();
  for (const decoding::Constraint& constraint : request.constraints)
    for (const decoding::Constraint::Form& form : constraint.forms)
      tokens += form.tokens.size() + sizeof(decoding::Constraint) / sizeof(std::int32_t);
  return kRequestOverhead + sizeof(std::int32_t) * tokens;
}
std::size_t bytes_of(const ScoreRequest& request) {
  return kRequestOverhead + sizeof(std::int32_t) * (request.source.size() + request.target.size());
}

/// Replaces options that are 0 by the values that the device prefers.
EngineOptions filled_in(EngineOptions options, const runtime::Runtime& runtime, const decoding::Ensemble& ensemble) {
  tensor::PreferredLoad load;  // if the device is not here, each request fails with the reason
  if (runtime.available(options.device))
    load = runtime.backend(options.device)
               .preferred_load(options.device.number(), ensemble.models.front()->parameters().compute_type());
  const int most = core::thread_count(0);
  if (options.threads == 0) options.threads = load.workers > 0 ? std::min(load.workers, most) : most;
  options.threads = core::thread_count(options.threads);
  decoding::LoopLimits& limits = options.limits;
  if (limits.maximum_rows == 0) limits.maximum_rows = load.rows;
  if (limits.maximum_encoder_tokens == 0) limits.maximum_encoder_tokens = load.encoder_tokens;
  if (limits.maximum_state_bytes == 0) limits.maximum_state_bytes = load.state_bytes;
  return options;
}

}  // namespace

struct TranslationEngine::Impl {
  const runtime::Runtime* runtime;
  decoding::Ensemble ensemble;
  nn::SequenceSpec spec;
  EngineOptions options;
  decoding::SharedSearch usual = std::make_shared<const decoding::SearchPlan>(decoding::DecodingOptions{});
  RequestQueue queue;
  WorkerLatencies latencies;
  std::size_t most_workers;
  // Both guarded by the queue's lock, under which workers are started.
  std::deque<core::SharedExecutor> executors;  ///< one per worker; other workers may still access it
  std::vector<std::jthread> workers;

  Impl(const runtime::Runtime& engine_runtime, decoding::Ensemble engine_ensemble, EngineOptions engine_options)
      : runtime(&engine_runtime),
        ensemble(std::move(engine_ensemble)),
        spec(ensemble.spec()),
        options(filled_in(engine_options, engine_runtime, ensemble)),
        queue(static_cast<std::size_t>(options.threads), options.latency, [this] { return start_worker(); }) {
    most_workers = static_cast<std::size_t>(options.threads);
    workers.reserve(most_workers);
  }
  ~Impl() { queue.close(); }

  bool start_worker() {
    if (workers.size() == most_workers) return false;
    core::SharedExecutor& executor = executors.emplace_back(&queue);
    const auto body = [this, &executor] {
      Worker(*runtime, ensemble, options, usual, queue, executor, latencies).run();
    };
    if (workers.empty()) {
      workers.push_back(core::start_thread("translates", body));
      return true;
    }
    std::optional<std::jthread> worker = core::try_start_thread(body);
    if (worker)
      workers.push_back(std::move(*worker));
    else
      most_workers = workers.size();
    return worker.has_value();
  }

  void require_one_model() const {
    core::require(ensemble.models.size() == 1, core::ErrorCode::kUnsupported,
                  "an ensemble of {} models has no inner states of its own; ask each of the models",
                  ensemble.models.size());
  }

  template <class Request, class Task, class Done>
  void submit(Client::State& client, Request request, Done done) {
    auto job = std::make_unique<Job>();
    job->client = &client;
    job->bytes = bytes_of(request);
    job->submitted = std::chrono::steady_clock::now();
    job->task = Task{std::move(request), std::move(done)};
    queue.submit(std::move(job), options.client_bytes);
  }
};

TranslationEngine::TranslationEngine(const runtime::Runtime& runtime, const nn::Seq2SeqModel& model,
                                     EngineOptions options)
    : TranslationEngine(runtime, decoding::Ensemble{.models = {&model}}, options) {}
TranslationEngine::TranslationEngine(const runtime::Runtime& runtime, decoding::Ensemble ensemble,
                                     EngineOptions options)
    : impl_(std::make_unique<Impl>(runtime, std::move(ensemble), options)) {}
TranslationEngine::~TranslationEngine() = default;

const nn::Seq2SeqModel& TranslationEngine::model() const noexcept {
  return *impl_->ensemble.models.front();
}
const nn::SequenceSpec& TranslationEngine::spec() const noexcept {
  return impl_->spec;
}
int TranslationEngine::threads() const noexcept {
  return impl_->options.threads;
}

Latencies TranslationEngine::latencies() const noexcept {
  return {.first_token = impl_->latencies.first_token.summary(), .next_token = impl_->latencies.next_token.summary()};
}

Client::Client(TranslationEngine& engine) : engine_(engine.impl_.get()), state_(std::make_unique<State>()) {
  engine_->queue.add(*state_);
}

Client::~Client() {
  cancel();
  try {
    engine_->queue.wait(*state_);
  } catch (...) {
    // An exception of a callback, and no caller waits for it.
  }
  engine_->queue.remove(*state_);
}

void Client::submit(TranslationRequest request, OnTranslation done) {
  if (!request.inner.empty()) engine_->require_one_model();
  core::require(request.shortlist == nullptr || engine_->ensemble.models.size() == 1, core::ErrorCode::kUnsupported,
                "an ensemble needs each model's whole distribution, so a shortlist would save nothing; leave it out");
  engine_->submit<TranslationRequest, Job::Translation>(*state_, std::move(request), std::move(done));
}
void Client::submit(ScoreRequest request, OnScore done) {
  if (!request.inner.empty()) engine_->require_one_model();
  engine_->submit<ScoreRequest, Job::Score>(*state_, std::move(request), std::move(done));
}
void Client::cancel() noexcept {
  engine_->queue.cancel(*state_);
}
void Client::wait() {
  engine_->queue.wait(*state_);
}

}  // namespace dragoman::engine
