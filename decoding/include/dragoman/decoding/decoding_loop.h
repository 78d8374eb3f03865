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
  kSentence,  ///< one was stored
  kNone,      ///< none is there now, more may come; only if the caller may not wait
  kEnd,       ///< there will be no more
};

/// Where sentences come from. Called by the loop's thread.
class SentenceSource {
 public:
  virtual ~SentenceSource();
  /// Stores the next sentence (all fields; the vectors' memory may be reused). With `may_wait` it blocks until there is
  /// one or the end; the loop passes false while it has other work, so that a slow producer does not hold up what is in
  /// flight. A source that is asked to stop returns kEnd.
  virtual Supply next(Sentence& sentence, bool may_wait) = 0;
  /// Asked before each step about each sentence in flight: whether nobody wants its result any more.
  virtual bool stopped(std::uint64_t id) {
    static_cast<void>(id);
    return false;
  }
};

/// Where results go. Called by the loop's thread, in the order in which sentences finish.
class HypothesisSink {
 public:
  virtual ~HypothesisSink();
  /// At most n_best hypotheses, at least one, best first.
  virtual void deliver(std::uint64_t id, std::vector<Hypothesis> hypotheses) = 0;
  /// A sentence that has no result, through no fault of the others: the model cannot take it (empty, too long, unknown
  /// ids, a prefix beyond the limit: Error{kInvalidArgument} naming its id), its search failed, or it was
  /// stopped (Error{kInterrupted}). What this throws ends the run; by default the error.
  virtual void fail(std::uint64_t id, std::exception_ptr error);
  /// After each step, before its results are handed over: the sentences that were in it; those that it ended have no
  /// living hypotheses any more. What this throws ends the run.
  virtual void stepped(std::span<const SentenceState* const> sentences) { static_cast<void>(sentences); }
};

/// How many tokens the best result of a sentence is certain to begin with, whatever the next steps bring: those with
/// which every living hypothesis begins, and so does the best of those that have ended, which may yet be the result.
/// They never become fewer or others. Of searches with one hypothesis they are all of its tokens; of others, those on
/// which the whole beam has agreed. 0 if nothing is alive.
std::size_t stable_prefix_length(const SentenceState& sentence);

struct LoopStatistics {
  std::uint64_t sentences = 0;
  std::uint64_t cut_sentences = 0;  ///< whose best hypothesis was stopped by length
  std::uint64_t source_tokens = 0;
  std::uint64_t target_tokens = 0;  ///< of best hypotheses
  std::uint64_t steps = 0;
  std::uint64_t rows = 0;  ///< summed over the steps
};

/// Translates a stream of sentences: keeps as many in flight as the limits allow, admits new ones (encoded together) as
/// others finish, and asks the strategy of each what to do with it: each sentence may have a search of its own. A
/// sentence for which the model gives a score that is not a finite number ends there, with one hypothesis that says so:
/// no strategy can rank it. A sentence's result does not depend on the limits, on order, or on what else is in flight.
/// Belongs to one thread.
class DecodingLoop {
 public:
  /// `usual` is the search of sentences that name none. The model must outlive the loop.
  DecodingLoop(StepModel& model, SharedSearch usual, const LoopLimits& limits = {});
  /// With the built-in strategy and processors that the options name.
  DecodingLoop(StepModel& model, const DecodingOptions& options, const LoopLimits& limits = {});
  ~DecodingLoop();

  /// True when the source has ended and all is delivered; false when a stop was requested: sentences in flight are then
  /// dropped. What the model throws ends the run. After a return or a throw no sentence is left in the model, and the
  /// loop can run again.
  bool run(SentenceSource& source, HypothesisSink& sink, std::stop_token stop = {});

  /// Summed over all runs.
  const LoopStatistics& statistics() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// All sentences at once; results in the order of `sentences`, whose ids are not looked at. Convenience for tests,
/// validation and small jobs.
std::vector<std::vector<Hypothesis>> decode_all(StepModel& model, const std::vector<Sentence>& sentences,
                                                const DecodingOptions& options, const LoopLimits& limits = {});
std::vector<std::vector<Hypothesis>> decode_all(StepModel& model, const std::vector<Sentence>& sentences,
                                                SharedSearch usual, const LoopLimits& limits = {});

}  // namespace dragoman::decoding
