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

namespace dragoman::pipeline {

/// Text in, text out. dragoman.h has a smaller interface for programs that embed Dragoman.
///
///     dragoman::pipeline::Model model("models/de-en");
///     dragoman::pipeline::Translator translator(model);
///     std::string english = translator.translate("Guten Morgen!");
///
/// It is thread-safe: calls from any number of threads share the model's workers. A record may override the options.
/// Throws core::Error.
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
  /// One result per line, in order.
  std::vector<std::string> translate(std::span<const std::string> lines);
  std::vector<std::string> translate(std::span<const std::string> lines, const RecordOptions& options);
  /// With scores, tokens and alternatives in Record::fields if the options ask for details.
  std::vector<Record> translate(std::vector<Record> records);
  std::vector<Record> translate(std::vector<Record> records, const RecordOptions& options);

  /// Called once, by a worker of the engine. It must be quick, must not throw, and must not call the translator.
  using Done = std::function<void(TranslatedRecord)>;
  /// Returns when the record is on its way; waits only where megabytes of records are. All that is under way when the
  /// translator is destroyed ends with Error{kInterrupted}.
  void submit(Record record, RecordOptions options, Done done);
  /// The same with the result, or the error, in a future. What RecordOptions::stop, on_partial and on_sentence say
  /// holds here and there: a request can be watched and cancelled by itself.
  std::future<Record> submit(Record record, RecordOptions options = {});
  std::future<std::string> submit(std::string_view text, RecordOptions options = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
