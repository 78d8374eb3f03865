#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/pipeline/line_policy.h>
#include <dragoman/pipeline/record_io.h>
#include <dragoman/pipeline/service.h>
#include <dragoman/pipeline_api/stage.h>
#include <dragoman/plugins/host.h>

namespace dragoman::pipeline {

struct PipelineOptions {
  /// For map stages; services have their own.
  int threads = 0;
  /// A failed record ends the run with an error, instead of becoming an empty line that is counted.
  bool fail_on_error = false;
  /// What reports of progress call the run.
  std::string name = "run";
  core::LogSink log{};
  core::ProgressSink progress{};
};

/// A chain read -> stages -> write, run with bounded memory and in order: one output line per input line.
///
///     Pipeline pipeline;
///     pipeline.read({.path = "input.de"});
///     pipeline.add(std::make_unique<MyStage>());
///     pipeline.add(std::make_unique<TranslateService>(...));
///     pipeline.write({.path = "output.en"});
///     pipeline.run({}, stop);
class Pipeline {
 public:
  Pipeline();
  ~Pipeline();
  Pipeline(Pipeline&&) noexcept;
  Pipeline& operator=(Pipeline&&) noexcept;

  void read(ReadOptions options);
  void write(WriteOptions options);
  /// Changes what the write stage, which must be there, does with the partial file of an interrupted run.
  void set_partial(core::PartialPolicy policy);
  /// A file or folder that is read besides what the read stage names, such as a model: run() refuses to write there.
  void add_input(std::filesystem::path path);
  /// What run() checks before anything else, unless it goes on with a partial output or replaces that.
  void add_check(std::function<void()> check);
  /// What run() says on the log before anything else.
  void add_note(std::string note);
  void add(std::unique_ptr<const MapStage> stage);
  void add(std::unique_ptr<Service> service);

  /// Runs to the end of the input and commits the output. Error{kInterrupted} if a stop was requested: the complete
  /// lines then stand in the output's partial file. Any stage's exception ends the run and reaches the caller.
  LineCounts run(const PipelineOptions& options, const std::stop_token& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Builds a pipeline from a configuration:
///
///     stages:
///       - read:      {path: input.de}
///       - split:     {locale: de}
///       - translate: {model: models/de-en, beam-size: 4}
///       - write:     {path: output.en}
///
/// The identity of the output is made of all of it but paths: resuming another job is refused.
///
/// Relative paths are relative to the working directory. Stages that plugins registered in the host are found by name.
/// The host must outlive the pipeline, and may load a plugin meanwhile: see Translator. `where` names the configuration
/// in messages.
Pipeline make_pipeline(const core::Json& configuration, const std::string& where, plugins::Host& host, int threads);

}  // namespace dragoman::pipeline
