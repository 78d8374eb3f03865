#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include <dragoman/decoding/loop_limits.h>
#include <dragoman/decoding/search_plan.h>
#include <dragoman/decoding/sentence.h>
#include <dragoman/decoding/step_model.h>

namespace dragoman::decoding {

enum class Supply : std::uint8_t {
  kSentence,  ///< a sentence was stored
  kNone,      ///< no sentence is available now, but more may come; only without `may_wait`
  kEnd,       ///< there are no more sentences
};

/// The source of sentences. Called by the loop's thread.
class SentenceSource {
 public:
  virtual ~SentenceSource();
  /// Stores the next sentence in `sentence` (all fields; the vectors' memory may be reused). With `may_wait` it blocks
  /// until a sentence is available or the end is reached. The loop passes false while it has other work, so that a slow
  /// producer does not delay sentences in flight. A source that was requested to stop returns kEnd.
  virtual Supply next(Sentence& sentence, bool may_wait) = 0;
  /// Returns whether the result of a sentence is no longer needed. Called before each step for each sentence in flight.
  virtual bool stopped(std::uint64_t id) {
    static_cast<void>(id);
    return false;
  }
};

/// Receives results. Called by the loop's thread, in the order in which sentences finish.
class HypothesisSink {
 public:
  virtual ~HypothesisSink();
  /// Receives the hypotheses of a sentence: 1 to n_best, best first.
  virtual void deliver(std::uint64_t id, std::vector<Hypothesis> hypotheses) = 0;
  /// Receives a sentence that has no result; other sentences are not affected. The cases are: the model cannot process
  /// the sentence (empty, too long, unknown ids, a prefix beyond the limit: Error{kInvalidArgument} naming its id), its
  /// search failed, or it was stopped (Error{kInterrupted}). An exception ends the run. The default implementation
  /// throws the error.
  virtual void fail(std::uint64_t id, std::exception_ptr error);
  /// Called after each step, before its results are delivered, with the sentences of the step. A sentence that the step
  /// finished has no living hypotheses. An exception ends the run.
  virtual void stepped(std::span<const SentenceState* const> sentences) { static_cast<void>(sentences); }
};

/// Returns the number of tokens that the best result of a sentence is certain to begin with. This is the longest common
/// prefix of all living hypotheses and of the best ended hypothesis, which may still become the result. The prefix
/// never shrinks or changes. For a search with one hypothesis it has all tokens of the hypothesis. 0 if no hypothesis
/// is alive.
std::size_t stable_prefix_length(const SentenceState& sentence);

struct LoopStatistics {
  std::uint64_t sentences = 0;
  std::uint64_t cut_sentences = 0;  ///< sentences whose best hypothesis was cut at the length limit
  std::uint64_t source_tokens = 0;
  std::uint64_t target_tokens = 0;  ///< of best hypotheses
  std::uint64_t steps = 0;
  std::uint64_t rows = 0;  ///< summed over the steps
};

/// Translates a stream of sentences. The loop fills the rows that the limits allow, and admits new sentences, which are
/// encoded together, as others finish. Each sentence may have its own search, whose strategy makes the decisions. If
/// the model returns a score that is not finite, the sentence ends with one hypothesis that reports this: no strategy
/// can rank such scores. The result of a sentence does not depend on the limits, the order or the other sentences in
/// flight. Not thread-safe.
class DecodingLoop {
 public:
  /// Sentences without a search use `usual`. The model must outlive the loop.
  DecodingLoop(StepModel& model, SharedSearch usual, const LoopLimits& limits = {});
  /// Uses the built-in strategy and the processors that the options select.
  DecodingLoop(StepModel& model, const DecodingOptions& options, const LoopLimits& limits = {});
  ~DecodingLoop();

  /// Runs until the source ends and all results are delivered (true), or until a stop is requested (false; sentences in
  /// flight are dropped). An exception of the model ends the run. In any case the model has no sentences afterwards,
  /// and the loop can run again.
  bool run(SentenceSource& source, HypothesisSink& sink, std::stop_token stop = {});

  /// Returns the sums over all runs.
  const LoopStatistics& statistics() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Translates all sentences and returns the results in the order of `sentences`, whose ids are ignored. For tests,
/// validation and small jobs.
///
///     std::vector<std::int32_t> best(StepModel& model, const std::vector<std::int32_t>& source) {
///       return decode_all(model, {{.source = source}}, DecodingOptions{.beam_size = 5}).front().front().tokens;
///     }
std::vector<std::vector<Hypothesis>> decode_all(StepModel& model, const std::vector<Sentence>& sentences,
                                                const DecodingOptions& options, const LoopLimits& limits = {});
std::vector<std::vector<Hypothesis>> decode_all(StepModel& model, const std::vector<Sentence>& sentences,
                                                SharedSearch usual, const LoopLimits& limits = {});

}  // namespace dragoman::decoding
