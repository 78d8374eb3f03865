#pragma once

#include "dragoman/engine/translation_engine.h"
#include "request_queue.h"

#include <array>
#include <chrono>
#include <memory>
#include <span>

#include <dragoman/core/hash_tables.h>
#include <dragoman/core/shared_executor.h>
#include <dragoman/decoding/model_stepper.h>

namespace dragoman::engine {

/// The latencies of an engine, over all its workers.
struct WorkerLatencies {
  LatencyHistogram first_token;
  LatencyHistogram next_token;
};

/// One thread of an engine: takes requests from the queue until the queue is closed. After any failure, every request
/// that it has taken gets its callback, and the thread continues.
class Worker final : decoding::SentenceSource, decoding::HypothesisSink {
 public:
  Worker(const runtime::Runtime& runtime, const decoding::Ensemble& ensemble, const EngineOptions& options,
         const decoding::SharedSearch& usual, RequestQueue& queue, core::SharedExecutor& executor,
         WorkerLatencies& latencies)
      : runtime_(&runtime),
        ensemble_(&ensemble),
        model_(ensemble.models.front()),
        options_(&options),
        usual_(&usual),
        queue_(&queue),
        executor_(&executor),
        latencies_(&latencies) {
    seat_.own = &executor;
  }

  void run() noexcept;

 private:
  /// The objects that a worker computes with. They are rebuilt after a failure, which may leave them in any state.
  struct Tools {
    std::unique_ptr<tensor::Context> context;
    /// For passes between the loop's steps, whose memory must be preserved.
    std::unique_ptr<tensor::Context> other_context;
    /// The contexts of all models of an ensemble except the first.
    std::vector<std::unique_ptr<tensor::Context>> further_contexts;
    std::unique_ptr<decoding::StepModel> stepper;
    decoding::DecodingLoop loop;

    Tools(const runtime::Runtime& runtime, const decoding::Ensemble& ensemble, const EngineOptions& options,
          const decoding::SharedSearch& usual, core::Executor& executor);
  };

  Tools& tools();
  void translate() noexcept;
  void score_batch() noexcept;
  void score(std::span<std::unique_ptr<Job>> jobs);
  /// Adds the inner states that the requests require to the results.
  void look_inside(std::span<std::unique_ptr<Job>> jobs, std::span<ScoreResult> results);

  static void tell(Job& job, const decoding::SentenceState& sentence) noexcept;
  decoding::InnerStates look_inside(const TranslationRequest& request, const decoding::Hypothesis& hypothesis);

  // The interfaces that the decoding loop calls.
  decoding::Supply next(decoding::Sentence& sentence, bool may_wait) override;
  bool stopped(std::uint64_t id) override;
  void deliver(std::uint64_t id, std::vector<decoding::Hypothesis> hypotheses) override;
  void fail(std::uint64_t id, std::exception_ptr error) override;
  void stepped(std::span<const decoding::SentenceState* const> sentences) override;

  void finish(std::unique_ptr<Job> job, TranslationResult result) noexcept;
  void finish(std::unique_ptr<Job> job, ScoreResult result) noexcept;
  /// Called after the callback of the job.
  void finish(std::unique_ptr<Job> job, std::exception_ptr thrown) noexcept;
  void finish_failed(std::unique_ptr<Job> job, const std::exception_ptr& error) noexcept;

  const runtime::Runtime* runtime_;
  const decoding::Ensemble* ensemble_;
  const nn::Seq2SeqModel* model_;  ///< the first model
  const EngineOptions* options_;
  const decoding::SharedSearch* usual_;
  RequestQueue* queue_;
  core::SharedExecutor* executor_;
  WorkerLatencies* latencies_;
  Seat seat_;
  std::unique_ptr<Tools> tools_;
  core::IntegerMap<std::uint64_t, std::unique_ptr<Job>> in_flight_;
  std::uint64_t next_id_ = 0;
  std::chrono::steady_clock::time_point last_step_{};
  /// The jobs of one teacher-forcing batch. All elements are empty between batches.
  std::array<std::unique_ptr<Job>, 256> batch_;
};

}  // namespace dragoman::engine
