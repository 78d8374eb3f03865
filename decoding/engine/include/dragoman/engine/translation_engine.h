#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include <dragoman/decoding/decoding_loop.h>
#include <dragoman/decoding/ensemble.h>
#include <dragoman/decoding/inner_states.h>
#include <dragoman/decoding/score.h>
#include <dragoman/engine/latency.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/runtime/runtime.h>

namespace dragoman::engine {

struct EngineOptions {
  /// Workers, each with its own decoding loop on one core. 0: the number that the device prefers, which for a CPU is
  /// the number of cores that the process may keep busy. Backend::preferred_load() also replaces limits that are 0. A
  /// worker starts when there is work for it and lives as long as the engine. There are fewer where the operating
  /// system refuses to start more.
  int threads = 0;
  /// Whether workers that have nothing to do share the steps of those that have, so that few sentences are done sooner.
  /// The results are the same.
  bool latency = true;
  tensor::Device device = tensor::Device::kCpu;
  /// Of each worker.
  decoding::LoopLimits limits{};
  /// A client waits to submit while its requests under way hold more than this.
  std::size_t client_bytes = std::size_t{64} << 20;
};

/// What is known of a translation that is not done yet. Valid during the call that it is given to.
struct PartialTranslation {
  /// Of the hypothesis that leads, the target prefix included; and their log probabilities, as in Hypothesis.
  std::span<const std::int32_t> tokens{};
  std::span<const double> log_probabilities{};
  /// The best hypothesis of the result will begin with this number of the tokens: see decoding::stable_prefix_length().
  /// Later tokens may change.
  std::size_t decided = 0;
};
using OnPartialTranslation = std::function<void(const PartialTranslation&)>;

/// A sentence to translate.
struct TranslationRequest {
  /// With the closing end.
  std::vector<std::int32_t> source{};
  /// Every hypothesis starts with these tokens.
  std::vector<std::int32_t> target_prefix{};
  /// What every hypothesis must hold, as decoding::Sentence has it.
  std::vector<decoding::Constraint> constraints{};
  std::shared_ptr<const decoding::WordBoundaries> boundaries{};
  /// What random draws are keyed by, as decoding::Sentence::line.
  std::uint64_t line = 0;
  /// nullptr: beam search with its defaults. Requests of different searches go through the same steps.
  decoding::SharedSearch search{};
  /// As decoding::Sentence's; must outlive the request.
  const decoding::Shortlist* shortlist = nullptr;
  /// Asked of the best hypothesis in a pass of its own, where it has any tokens or an end.
  decoding::InnerStatesRequest inner{};
  /// When it asks, the request ends with Error{kInterrupted}.
  std::stop_token stop{};
  /// Called by the worker after every step that leaves the sentence unfinished, so with each token: before the
  /// request's callback, and under the same rules. What it throws ends the request with that error.
  OnPartialTranslation on_partial{};
};

/// Exactly one of the two: at most n_best hypotheses, best first; or why there is none.
struct TranslationResult {
  std::vector<decoding::Hypothesis> hypotheses{};
  decoding::InnerStates inner{};
  std::exception_ptr error{};
};

/// A target whose probability is asked for, or what the model has inside when it reads one.
struct ScoreRequest {
  /// With the closing end.
  std::vector<std::int32_t> source{};
  /// Without the end, which is scored, too.
  std::vector<std::int32_t> target{};
  /// Whether the score is wanted, or `inner` alone, which may need no target.
  bool scored = true;
  decoding::InnerStatesRequest inner{};
  decoding::LengthPenalty penalty{};
  std::stop_token stop{};
};

struct ScoreResult {
  decoding::TargetScore score{};
  decoding::InnerStates inner{};
  std::exception_ptr error{};
};

/// Translates and scores with one model for whoever asks, for as long as it lives. Its workers keep their threads,
/// memory and packed steps between requests; requests of all clients share the workers' steps. A request's result
/// depends on nothing but the request: not on the number of workers, on order, or on what else is under way; and so its
/// failure is its own. Clients that have requests waiting take turns, sentence by sentence.
class TranslationEngine {
 public:
  /// Runtime and model, whose weights must not change while a request is under way, must outlive the engine.
  TranslationEngine(const runtime::Runtime& runtime, const nn::Seq2SeqModel& model, EngineOptions options = {});
  /// Translates and scores with several models together; of more than one, inner states cannot be had
  /// (Error{kUnsupported}). Throws as Ensemble::spec().
  TranslationEngine(const runtime::Runtime& runtime, decoding::Ensemble ensemble, EngineOptions options = {});
  /// All clients must be gone.
  ~TranslationEngine();
  TranslationEngine(const TranslationEngine&) = delete;
  TranslationEngine& operator=(const TranslationEngine&) = delete;

  /// Of several the first.
  const nn::Seq2SeqModel& model() const noexcept;
  /// What is translated obeys it.
  const nn::SequenceSpec& spec() const noexcept;
  int threads() const noexcept;
  /// Thread-safe.
  Latencies latencies() const noexcept;

  struct Impl;

 private:
  friend class Client;
  std::unique_ptr<Impl> impl_;
};

/// Somebody who submits requests to an engine, from any number of threads. Callbacks are called by a worker, which does
/// nothing else meanwhile: they must not wait for the engine, so submit() is not for them, nor may they own their
/// client, whose end would wait for them. What a callback throws reaches wait().
class Client {
 public:
  using OnTranslation = std::function<void(TranslationResult)>;
  using OnScore = std::function<void(ScoreResult)>;

  /// The engine must outlive the client.
  explicit Client(TranslationEngine& engine);
  /// Cancels what is under way and waits for its callbacks.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Waits while too much of this client is under way. Error{kInterrupted} after cancel(), Error{kIo} if no worker can
  /// be started: then the callback is not called.
  void submit(TranslationRequest request, OnTranslation done);
  void submit(ScoreRequest request, OnScore done);

  /// All requests under way end soon, with Error{kInterrupted}, and no more are taken. Thread-safe, callbacks included.
  void cancel() noexcept;
  /// Waits until nothing is under way and every callback has been destroyed; throws what the first callback threw that
  /// threw anything.
  void wait();

  struct State;

 private:
  TranslationEngine::Impl* engine_;
  std::unique_ptr<State> state_;
};

}  // namespace dragoman::engine
