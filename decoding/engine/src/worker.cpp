#include "worker.h"

#include <algorithm>
#include <utility>

#include <dragoman/core/error.h>

namespace dragoman::engine {
namespace {

/// Source and target tokens per batch of teacher forcing.
constexpr std::size_t kScoreTokens = 2048;

std::exception_ptr stopped_error() noexcept {
  try {
    return std::make_exception_ptr(core::Error(core::ErrorCode::kInterrupted, "the request was stopped"));
  } catch (...) {
    return std::current_exception();
  }
}

/// A ragged batch that owns its tokens.
struct TokenBatch {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> offsets{0};

  void add(const std::vector<std::int32_t>& sequence) {
    tokens.insert(tokens.end(), sequence.begin(), sequence.end());
    offsets.push_back(static_cast<std::int32_t>(tokens.size()));
  }
  tensor::RaggedTokens view() const { return {tokens, offsets}; }
};

const ScoreRequest& score_request(const std::unique_ptr<Job>& job) {
  return std::get<Job::Score>(job->task).request;
}

}  // namespace

namespace {

std::vector<tensor::Context*> contexts_of(tensor::Context& first,
                                          std::span<const std::unique_ptr<tensor::Context>> further) {
  std::vector<tensor::Context*> contexts = {&first};
  for (const auto& context : further) contexts.push_back(context.get());
  return contexts;
}

std::unique_ptr<decoding::StepModel> make_stepper(const decoding::Ensemble& ensemble, tensor::Context& first,
                                                  std::span<const std::unique_ptr<tensor::Context>> further) {
  if (further.empty()) return std::make_unique<decoding::ModelStepper>(*ensemble.models.front(), first);
  return std::make_unique<decoding::EnsembleStepper>(ensemble, contexts_of(first, further));
}

std::vector<decoding::TargetScore> score_together(const decoding::Ensemble& ensemble, tensor::Context& first,
                                                  std::span<const std::unique_ptr<tensor::Context>> further,
                                                  const tensor::RaggedTokens& sources,
                                                  const tensor::RaggedTokens& targets) {
  if (further.empty()) return decoding::score(*ensemble.models.front(), first, sources, targets);
  return decoding::score(ensemble, contexts_of(first, further), sources, targets);
}

std::vector<std::unique_ptr<tensor::Context>> make_further_contexts(const runtime::Runtime& runtime,
                                                                    const decoding::Ensemble& ensemble,
                                                                    tensor::Device device, core::Executor& executor) {
  std::vector<std::unique_ptr<tensor::Context>> contexts;
  for (std::size_t i = 1; i < ensemble.models.size(); ++i) contexts.push_back(runtime.make_context(device, executor));
  return contexts;
}

}  // namespace

Worker::Tools::Tools(const runtime::Runtime& runtime, const decoding::Ensemble& ensemble, const EngineOptions& options,
                     const decoding::SharedSearch& usual, core::Executor& executor)
    : context(runtime.make_context(options.device, executor)),
      further_contexts(make_further_contexts(runtime, ensemble, options.device, executor)),
      stepper(make_stepper(ensemble, *context, further_contexts)),
      loop(*stepper, usual, options.limits) {}

Worker::Tools& Worker::tools() {
  if (!tools_) tools_ = std::make_unique<Tools>(*runtime_, *ensemble_, *options_, *usual_, *executor_);
  return *tools_;
}

void Worker::run() noexcept {
  for (;;) {
    switch (queue_->wait_for_work(seat_)) {
      case Work::kTranslations:
        translate();
        break;
      case Work::kScores:
        score_batch();
        queue_->scores_done();
        break;
      case Work::kHelp:
        seat_.helped->help([this] { return queue_->wants_helpers_back(); });
        break;
      case Work::kEnd:
        return;
    }
  }
}

void Worker::translate() noexcept {
  try {
    tools().loop.run(*this, *this);
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    tools_.reset();
    // Without tools, nothing may be in flight yet. Then one request receives the error; in the end, all do.
    if (in_flight_.empty())
      if (auto job = queue_->take_translation(seat_)) finish_failed(std::move(job), error);
    for (auto& [id, job] : std::exchange(in_flight_, {})) finish_failed(std::move(job), error);
  }
}

decoding::Supply Worker::next(decoding::Sentence& sentence, bool may_wait) {
  while (auto job = queue_->take_translation(seat_)) {
    if (job->stopped()) {
      finish_failed(std::move(job), stopped_error());
      continue;
    }
    TranslationRequest& request = std::get<Job::Translation>(job->task).request;
    sentence.id = next_id_++;
    std::unique_ptr<Job>* place = nullptr;
    try {
      place = &in_flight_[sentence.id];
    } catch (...) {
      finish_failed(std::move(job), std::current_exception());
      throw;
    }
    sentence.line = request.line;
    sentence.search = request.search;
    sentence.shortlist = request.shortlist;
    // The pass for inner states reads it again.
    if (!request.inner.empty())
      sentence.source = request.source;
    else
      sentence.source = std::move(request.source);
    sentence.target_prefix = std::move(request.target_prefix);
    sentence.constraints = std::move(request.constraints);
    sentence.boundaries = std::move(request.boundaries);
    *place = std::move(job);
    return decoding::Supply::kSentence;
  }
  return may_wait ? decoding::Supply::kEnd : decoding::Supply::kNone;
}

bool Worker::stopped(std::uint64_t id) {
  const Job& job = *in_flight_.at(id);
  return job.stopped() || job.thrown != nullptr;
}

/// A sentence takes part in every step from its first to its last, so a continued one has waited since the last step.
void Worker::stepped(std::span<const decoding::SentenceState* const> sentences) {
  const auto now = std::chrono::steady_clock::now();
  std::uint64_t continued = 0;
  for (const decoding::SentenceState* sentence : sentences) {
    Job& job = *in_flight_.at(sentence->sentence.id);
    if (std::exchange(job.begun, true))
      ++continued;
    else
      latencies_->first_token.add(now - job.submitted);
    tell(job, *sentence);
  }
  if (continued > 0) latencies_->next_token.add(now - last_step_, continued);
  last_step_ = now;
}

void Worker::tell(Job& job, const decoding::SentenceState& sentence) noexcept {
  const OnPartialTranslation& on_partial = std::get<Job::Translation>(job.task).request.on_partial;
  if (!on_partial || sentence.live.empty() || job.thrown) return;
  const decoding::LiveHypothesis& leading = sentence.live.front();
  try {
    on_partial({.tokens = leading.tokens,
                .log_probabilities = leading.token_log_probabilities,
                .decided = stable_prefix_length(sentence)});
  } catch (...) {
    job.thrown = std::current_exception();
  }
}

void Worker::deliver(std::uint64_t id, std::vector<decoding::Hypothesis> hypotheses) {
  std::unique_ptr<Job> job = std::move(in_flight_.extract(id).mapped());
  TranslationResult result{.hypotheses = std::move(hypotheses)};
  if (const std::exception_ptr thrown = job->thrown) return finish_failed(std::move(job), thrown);
  const TranslationRequest& request = std::get<Job::Translation>(job->task).request;
  if (!request.inner.empty()) {
    try {
      result.inner = look_inside(request, result.hypotheses.front());
    } catch (...) {
      return finish_failed(std::move(job), std::current_exception());
    }
  }
  finish(std::move(job), std::move(result));
}

decoding::InnerStates Worker::look_inside(const TranslationRequest& request, const decoding::Hypothesis& hypothesis) {
  TokenBatch source;
  TokenBatch target;
  source.add(request.source);
  std::vector<std::int32_t> tokens = hypothesis.tokens;
  // A hypothesis that was cut predicts its last token and no end, so the pass ends one token earlier.
  if (hypothesis.stopped_by != decoding::StoppedBy::kEnd) {
    if (tokens.empty()) return {};
    tokens.pop_back();
  }
  target.add(tokens);
  if (!tools_->other_context) tools_->other_context = runtime_->make_context(options_->device, *executor_);
  return std::move(
      decoding::inner_states(*model_, *tools_->other_context, source.view(), target.view(), request.inner).front());
}

void Worker::fail(std::uint64_t id, std::exception_ptr error) {
  std::unique_ptr<Job> job = std::move(in_flight_.extract(id).mapped());
  if (job->thrown) error = job->thrown;
  finish_failed(std::move(job), error);
}

void Worker::score_batch() noexcept {
  const std::span all = std::span(batch_).first(queue_->take_scores(seat_, kScoreTokens, batch_));
  for (auto& job : all)
    if (job->stopped()) finish_failed(std::move(job), stopped_error());
  const std::span jobs(all.begin(), std::remove(all.begin(), all.end(), nullptr));
  if (jobs.empty()) return;
  try {
    score(jobs);
  } catch (...) {
    tools_.reset();
    // One by one, so that a pair that the model does not support fails alone.
    for (auto& job : jobs) {
      if (job == nullptr) continue;
      try {
        score({&job, 1});
      } catch (...) {
        tools_.reset();
        finish_failed(std::move(job), std::current_exception());
      }
    }
  }
}

/// Finishes all jobs, or throws before any of them is finished.
void Worker::score(std::span<std::unique_ptr<Job>> jobs) {
  TokenBatch sources;
  TokenBatch targets;
  std::vector<std::size_t> scored;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ScoreRequest& request = score_request(jobs[i]);
    if (!request.scored) continue;
    sources.add(request.source);
    targets.add(request.target);
    scored.push_back(i);
  }
  std::vector<ScoreResult> results(jobs.size());
  auto scores = score_together(*ensemble_, *tools().context, tools().further_contexts, sources.view(), targets.view());
  for (std::size_t k = 0; k < scored.size(); ++k) {
    const ScoreRequest& request = score_request(jobs[scored[k]]);
    decoding::TargetScore& score = results[scored[k]].score = std::move(scores[k]);
    score.score = request.penalty.score(score.log_probability, static_cast<std::int64_t>(request.target.size()), true);
  }
  look_inside(jobs, results);
  for (std::size_t i = 0; i < jobs.size(); ++i) finish(std::move(jobs[i]), std::move(results[i]));
}

/// Adjacent jobs with equal requests share one pass.
void Worker::look_inside(std::span<std::unique_ptr<Job>> jobs, std::span<ScoreResult> results) {
  for (std::size_t begin = 0, end = 0; begin < jobs.size(); begin = end) {
    const decoding::InnerStatesRequest& wanted = score_request(jobs[begin]).inner;
    TokenBatch sources;
    TokenBatch targets;
    for (; end < jobs.size() && score_request(jobs[end]).inner == wanted; ++end) {
      sources.add(score_request(jobs[end]).source);
      targets.add(score_request(jobs[end]).target);
    }
    if (wanted.empty()) continue;
    auto inner = decoding::inner_states(*model_, *tools().context, sources.view(), targets.view(), wanted);
    for (std::size_t i = begin; i < end; ++i) results[i].inner = std::move(inner[i - begin]);
  }
}

void Worker::finish(std::unique_ptr<Job> job, TranslationResult result) noexcept {
  std::exception_ptr thrown;
  try {
    std::get<Job::Translation>(job->task).done(std::move(result));
  } catch (...) {
    thrown = std::current_exception();
  }
  finish(std::move(job), std::move(thrown));
}

void Worker::finish(std::unique_ptr<Job> job, ScoreResult result) noexcept {
  std::exception_ptr thrown;
  try {
    std::get<Job::Score>(job->task).done(std::move(result));
  } catch (...) {
    thrown = std::current_exception();
  }
  finish(std::move(job), std::move(thrown));
}

void Worker::finish(std::unique_ptr<Job> job, std::exception_ptr thrown) noexcept {
  // Destroy what the callback owns first: once the queue is notified, a waiting client may be destroyed.
  job->task.emplace<Job::Score>();
  queue_->finish(seat_, *job, std::move(thrown));
}

void Worker::finish_failed(std::unique_ptr<Job> job, const std::exception_ptr& error) noexcept {
  if (std::holds_alternative<Job::Translation>(job->task))
    finish(std::move(job), TranslationResult{.error = error});
  else
    finish(std::move(job), ScoreResult{.error = error});
}

}  // namespace dragoman::engine
