#pragma once

#include "model_set.h"
#include "text_cutter.h"

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/decoding/search.h>
#include <dragoman/server/translation_service.h>

namespace dragoman::server {

/// The parts of the service that a request uses.
struct JobSetting {
  std::shared_ptr<const ModelSet> models;
  decoding::Search search;
  /// Finds the language of a text for a target.
  std::function<LanguageGuess(std::string_view text, const std::string& target)> guess_source;
};

/// A request under way. The thread of the scheduler cuts and submits its sentences, and workers bring the translations
/// back. Functions without a remark belong to the thread of the scheduler.
class Job {
 public:
  /// The number of sentences that are in flight at most: enough for full batches, and few enough that other requests
  /// get their turn.
  static constexpr std::size_t kWindow = 256;

  /// `changed` is called when the job has something to do for the scheduler: by workers, and by stop(). `splitters`
  /// belongs to the thread of the scheduler.
  Job(TranslateRequest request, TranslationService::Done done, JobSetting setting, Splitters& splitters,
      std::function<void()> changed);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Begins to listen to the request's stop token.
  void watch();
  /// Ends the request soon. Any thread.
  void stop() noexcept;
  /// Ends the request soon, with an error: what has no result gets it.
  void fail(std::exception_ptr error) noexcept;
  /// Submits the next sentence. Returns false if there is none, or if enough are in flight.
  bool send();
  /// Passes on the texts that are complete.
  void deliver();
  bool finished();
  /// Waits for the last callbacks of workers. The job must be finished; `changed` is not called any more.
  void settle();
  /// Calls `done`.
  void complete() noexcept;
  /// Any thread.
  std::size_t sentences_in_flight() const;
  std::size_t sentences() const noexcept { return sent_; }

 private:
  struct Sentence {
    std::string before{};
    std::string source{};  ///< kept for details
    std::string text{};    ///< between two legs, and at the end
    std::vector<pipeline::Translation> translations{};
    std::size_t leg = 0;
    bool done = false;
  };
  /// A text of the request.
  struct Item {
    std::string source{};  ///< offered code
    std::vector<Leg> legs{};
    std::optional<TextCutter> cutter{};
    std::deque<Sentence> sentences{};
    std::string after{};
    std::size_t open = 0;  ///< sentences without a translation
    bool cut = false;      ///< there are no further sentences
    bool failed = false;
    bool complete = false;       ///< has been in complete_
    std::size_t told = 0;        ///< sentences that on_partial has
    std::size_t told_bytes = 0;  ///< of the next sentence, with the text before it
  };
  struct Place {
    std::size_t item;
    std::size_t sentence;
  };

  /// Prepares the next text. Returns false if it is complete or failed.
  bool open_item(std::size_t index);
  bool is_html() const noexcept { return request_.format == TextFormat::kHtml; }
  std::optional<Place> next_sentence();
  std::optional<Place> cut_sentence();
  void submit(const Place& place);
  pipeline::RecordOptions record_options(const Place& place, const Leg& leg, bool is_last);
  void take_result(const Place& place, pipeline::TranslatedRecord result) noexcept;
  void keep_result(const Place& place, pipeline::TranslatedRecord result);
  void tell_partial(const Place& place, const pipeline::PartialRecord& partial);
  // Require the lock:
  void tell_sentences(std::size_t index);
  void fail_item(std::size_t index, std::exception_ptr error);
  /// Notes that there are no further sentences.
  void close_item(std::size_t index);
  /// Passes the text on if it has no open sentences.
  void pass_on(std::size_t index);
  void assemble(Item& item, TranslatedText& text) const;
  static std::vector<std::string> source_tokens(const Leg& leg, const Sentence& sentence);

  TranslateRequest request_;
  TranslationService::Done done_;
  JobSetting setting_;
  Splitters& splitters_;
  std::function<void()> changed_;
  std::map<pipeline::Translator*, std::unique_ptr<pipeline::Translator::Session>> sessions_;
  TranslateResult result_;
  std::stop_source ended_;
  std::size_t next_item_ = 0;
  std::size_t sent_ = 0;

  mutable std::mutex mutex_;  ///< guards what follows
  std::vector<Item> items_;
  std::deque<Place> again_;           ///< sentences with another leg to go
  std::deque<std::size_t> complete_;  ///< texts to pass on
  std::size_t in_flight_ = 0;
  bool stopped_ = false;
  bool late_ = false;           ///< the stop came after the deadline
  std::exception_ptr failure_;  ///< the first error of the job as a whole

  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace dragoman::server
