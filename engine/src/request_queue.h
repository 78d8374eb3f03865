#pragma once

#include "dragoman/engine/translation_engine.h"
#include "sentence_queue.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

namespace dragoman::engine {

/// A request under way.
struct Job {
  struct Translation {
    TranslationRequest request;
    Client::OnTranslation done;
  };
  struct Score {
    ScoreRequest request;
    Client::OnScore done;
  };

  Client::State* client = nullptr;
  std::variant<Translation, Score> task;
  std::size_t bytes = 0;

  const std::stop_token& stop() const;
  /// Whether nobody wants its result any more.
  bool stopped() const;
};

enum class Work : std::uint8_t { kTranslations, kScores, kEnd };

/// A worker, as the queue knows it. A new one counts as free.
struct Seat {
  std::size_t jobs = 0;
  bool free = true;  ///< has nothing to do, or has called its last callback
};

/// What clients have asked for and no worker has taken yet, and who takes what: clients take turns; translations and
/// scores, which go through steps of different kinds, get their workers; a worker that has sentences in flight leaves
/// the last ones to workers that have none. Thread-safe.
class RequestQueue {
 public:
  // --- clients ---

  void add(Client::State& client);
  void remove(Client::State& client);
  /// Waits for room. `start_worker` is called, under the lock, before a job enters that no worker is free for; whether
  /// it has started one.
  void submit(std::unique_ptr<Job> job, std::size_t most_bytes, const std::function<bool()>& start_worker);
  void cancel(Client::State& client) noexcept;
  void wait(Client::State& client);

  // --- workers ---

  /// Waits for work of any kind; which kind the worker is to do. kEnd when the queue was closed.
  Work wait_for_work(Seat& seat);
  /// The next translation for this worker; nullptr if there is none for it now.
  std::unique_ptr<Job> take_translation(Seat& seat);
  /// Scores to go through together, of about so many tokens; at least one if any waits.
  std::vector<std::unique_ptr<Job>> take_scores(Seat& seat, std::size_t tokens);
  /// The worker that wait_for_work() sent to scores is done with its batch.
  void scores_done();
  /// The job's callback has been called. `thrown` is what that threw.
  void finish(Seat& seat, const Job& job, std::exception_ptr thrown);
  void close();

 private:
  std::unique_ptr<Job> take(Seat& seat, SentenceQueue& queue);
  void set_free(Seat& seat, bool free);
  Client::State* next_client(SentenceQueue Client::State::*queue);
  /// Scores wait and nobody sees to them.
  bool scores_want_a_worker() const { return scores_ > 0 && scoring_ == 0; }

  std::mutex mutex_;
  std::condition_variable work_;
  std::vector<Client::State*> clients_;
  std::size_t turn_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Job>> jobs_;
  std::uint64_t next_id_ = 0;
  std::size_t translations_ = 0;  ///< that wait
  std::size_t scores_ = 0;        ///< that wait
  std::size_t free_ = 0;          ///< workers
  int scoring_ = 0;               ///< workers that score
  bool closed_ = false;
};

}  // namespace dragoman::engine

/// Of one client; but for `cancelled`, the queue's lock guards it.
struct dragoman::engine::Client::State {
  SentenceQueue translations;
  SentenceQueue scores;
  std::size_t jobs = 0;  ///< under way
  std::size_t bytes = 0;
  std::exception_ptr thrown;
  std::condition_variable changed;
  std::atomic<bool> cancelled = false;
};
