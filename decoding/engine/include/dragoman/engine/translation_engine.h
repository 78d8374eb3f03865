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
  /// The number of workers. Each worker runs its own decoding loop on one core. 0 selects the number that the device
  /// prefers; for a CPU this is the number of cores that the process may keep busy. Backend::preferred_load() also
  /// replaces limits that are 0. A worker starts when there is work for it and runs until the engine is destroyed.
  /// There are fewer workers if the operating system refuses to start more.
  int threads = 0;
  /// Whether idle workers share the steps of busy ones, so that a few sentences finish sooner. Results do not depend on
  /// it.
  bool latency = true;
  tensor::Device device = tensor::Device::kCpu;
  /// The limits of each worker.
  decoding::LoopLimits limits{};
  /// submit() blocks while the requests in flight of its client hold more than this number of bytes.
  std::size_t client_bytes = std::size_t{64} << 20;
};

/// The part of an unfinished translation that is known. Valid during the call that receives it.
struct PartialTranslation {
  /// The tokens of the leading hypothesis, including the target prefix, and their log probabilities as in Hypothesis.
  std::span<const std::int32_t> tokens{};
  std::span<const double> log_probabilities{};
  /// The number of tokens that are final: the best hypothesis of the result begins with them. Later tokens may change.
  /// See decoding::stable_prefix_length().
  std::size_t decided = 0;
};
using OnPartialTranslation = std::function<void(const PartialTranslation&)>;

/// A sentence to translate.
struct TranslationRequest {
  /// Includes the closing end.
  std::vector<std::int32_t> source{};
  /// Every hypothesis starts with these tokens.
  std::vector<std::int32_t> target_prefix{};
  /// Every hypothesis must contain these: see decoding::Sentence.
  std::vector<decoding::Constraint> constraints{};
  std::shared_ptr<const decoding::WordBoundaries> boundaries{};
  /// The key of random draws: see decoding::Sentence::line.
  std::uint64_t line = 0;
  /// nullptr selects beam search with default options. Requests with different searches share the same steps.
  decoding::SharedSearch search{};
  /// As in decoding::Sentence. Must outlive the request.
  const decoding::Shortlist* shortlist = nullptr;
  /// Inner states of the best hypothesis, if it has tokens or an end. They are computed in a separate pass.
  decoding::InnerStatesRequest inner{};
  /// A stop request ends the request with Error{kInterrupted}.
  std::stop_token stop{};
  /// Called by the worker after every step that does not finish the sentence, hence with each token. All calls precede
  /// the completion callback of the request and follow the same rules. An exception ends the request with that error.
  OnPartialTranslation on_partial{};
};

/// Holds either 1 to n_best hypotheses, best first, or the error.
struct TranslationResult {
  std::vector<decoding::Hypothesis> hypotheses{};
  decoding::InnerStates inner{};
  std::exception_ptr error{};
};

/// A request for the probability of a given target, for the inner states of the model while it reads the target, or for
/// both.
struct ScoreRequest {
  /// Includes the closing end.
  std::vector<std::int32_t> source{};
  /// Excludes the closing end, which is scored as well.
  std::vector<std::int32_t> target{};
  /// Whether the score is computed. Without it, `inner` alone is computed, which may not need a target.
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

/// Translates and scores with one model, for any number of clients. The workers keep their threads, memory and packed
/// steps between requests, and requests of all clients share the workers' steps. The result of a request, or its error,
/// depends on the request alone: not on the number of workers, the order or other requests. Clients with waiting
/// requests take turns, one sentence at a time.
class TranslationEngine {
 public:
  /// The runtime and the model must outlive the engine. The weights must not change while a request is in flight.
  TranslationEngine(const runtime::Runtime& runtime, const nn::Seq2SeqModel& model, EngineOptions options = {});
  /// Translates and scores with an ensemble. If it has more than one model, inner states are not available
  /// (Error{kUnsupported}). Throws as Ensemble::spec().
  TranslationEngine(const runtime::Runtime& runtime, decoding::Ensemble ensemble, EngineOptions options = {});
  /// All clients must have been destroyed.
  ~TranslationEngine();
  TranslationEngine(const TranslationEngine&) = delete;
  TranslationEngine& operator=(const TranslationEngine&) = delete;

  /// Returns the model. For an ensemble, the first model.
  const nn::Seq2SeqModel& model() const noexcept;
  /// Returns the spec that all sentences must satisfy.
  const nn::SequenceSpec& spec() const noexcept;
  int threads() const noexcept;
  /// Thread-safe.
  Latencies latencies() const noexcept;

  struct Impl;

 private:
  friend class Client;
  std::unique_ptr<Impl> impl_;
};

/// Submits requests to an engine, from any number of threads. Callbacks are called by a worker, which waits for them. A
/// callback must therefore not wait for the engine: it must not call submit(), and must not own its client, whose
/// destructor would wait for the callback. wait() rethrows exceptions of callbacks.
///
///     void translate(TranslationEngine& engine, const std::vector<std::int32_t>& source) {
///       Client client(engine);
///       client.submit(TranslationRequest{.source = source}, [](TranslationResult result) {
///         if (!result.error) std::cout << result.hypotheses.front().score << '\n';
///       });
///       client.wait();
///     }
class Client {
 public:
  using OnTranslation = std::function<void(TranslationResult)>;
  using OnScore = std::function<void(ScoreResult)>;

  /// The engine must outlive the client.
  explicit Client(TranslationEngine& engine);
  /// Cancels all requests in flight and waits for their callbacks.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Blocks while this client has too much in flight (EngineOptions::client_bytes). Throws Error{kInterrupted} after
  /// cancel(), and Error{kIo} if no worker can be started. If submit() throws, the callback is not called.
  void submit(TranslationRequest request, OnTranslation done);
  void submit(ScoreRequest request, OnScore done);

  /// Ends all requests in flight soon, with Error{kInterrupted}, and rejects new ones. Thread-safe; callbacks may call
  /// it.
  void cancel() noexcept;
  /// Waits until nothing is in flight and all callbacks have been destroyed. Rethrows the first exception of a
  /// callback.
  void wait();

  struct State;

 private:
  TranslationEngine::Impl* engine_;
  std::unique_ptr<State> state_;
};

}  // namespace dragoman::engine
