#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/pipeline/ensemble.h>
#include <dragoman/pipeline/model.h>
#include <dragoman/pipeline/translate_service.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::engine {
class Client;
}

namespace dragoman::pipeline {

/// Translates texts and records. Programs that embed Dragoman may use the smaller interface in dragoman.h.
///
///     const Model model("models/de-en");
///     Translator translator(model);
///     const std::string english = translator.translate("Guten Morgen!");
///
/// Thread-safe: calls from any number of threads share the model's workers. A record may override the options. Throws
/// core::Error.
class Translator {
 public:
  /// Settings that the options leave unset come from the model folder: with {.search = {.beam_size = 5}} a model keeps
  /// its tuned length penalty.
  explicit Translator(const Model& model, const TranslateOptions& options = {});
  ~Translator();
  Translator(Translator&&) noexcept;
  Translator& operator=(Translator&&) noexcept;

  std::string translate(std::string_view text);
  std::string translate(std::string_view text, const RecordOptions& options);
  /// Returns one translation per line, in order.
  std::vector<std::string> translate(std::span<const std::string> lines);
  std::vector<std::string> translate(std::span<const std::string> lines, const RecordOptions& options);
  /// Translates records. If the options request details, Record::fields has scores, tokens and alternatives.
  std::vector<Record> translate(std::vector<Record> records);
  std::vector<Record> translate(std::vector<Record> records, const RecordOptions& options);

  /// Called exactly once: by a worker of the engine, or by the thread in submit() if there is nothing to translate or
  /// the record cannot be queued. It must be quick, must not throw, and must not call the translator.
  using Done = std::function<void(TranslatedRecord)>;
  /// Queues a record and returns. Blocks only while megabytes of records are in flight. When the translator is
  /// destroyed, everything in flight ends with Error{kInterrupted}.
  void submit(Record record, RecordOptions options, Done done);
  /// As above, with the result or the error in a future. RecordOptions::stop, on_partial and on_sentence apply here,
  /// too, so that each request can be observed and cancelled.
  std::future<Record> submit(Record record, RecordOptions options = {});
  std::future<std::string> submit(std::string_view text, RecordOptions options = {});

  /// A queue of its own in the engine. Sessions with waiting records take turns, one sentence at a time, so a session
  /// with thousands of records does not delay the others. Records of all sessions share the workers' steps.
  /// Thread-safe.
  class Session {
   public:
    /// The translator must outlive the session.
    explicit Session(Translator& translator);
    /// Ends everything in flight with Error{kInterrupted}, and waits for its callbacks. A callback must therefore not
    /// own the session.
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// As Translator::submit(). Blocks only while the records in flight of this session hold megabytes.
    void submit(Record record, RecordOptions options, Done done);

   private:
    Translator& translator_;
    std::unique_ptr<engine::Client> client_;
  };

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
