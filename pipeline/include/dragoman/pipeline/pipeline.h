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
  /// For map stages; services have their own threads.
  int threads = 0;
  /// Whether a failed record ends the run with an error. Otherwise it becomes an empty line, which is counted.
  bool fail_on_error = false;
  /// The name of the run in reports of progress.
  std::string name = "run";
  core::LogSink log{};
  core::ProgressSink progress{};
};

/// A chain read -> stages -> write that runs in bounded memory and in order: one output line per input line.
///
///     Pipeline pipeline;
///     pipeline.read({.path = "input.de"});
///     pipeline.add(std::make_unique<TranslateService>(Model("models/de-en"), TranslateOptions{}));
///     pipeline.write({.path = "output.en"});
///     pipeline.run({});
///
/// The pipeline owns its stages. One thread at a time. run() starts the threads of the stages and ends them.
class Pipeline {
 public:
  Pipeline();
  ~Pipeline();
  Pipeline(Pipeline&&) noexcept;
  Pipeline& operator=(Pipeline&&) noexcept;

  void read(ReadOptions options);
  void write(WriteOptions options);
  /// Sets the policy of the write stage, which must exist, for the partial file of an interrupted run.
  void set_partial(core::PartialPolicy policy);
  /// Adds a file or folder, such as a model, that is an input besides those of the read stage. run() refuses to
  /// overwrite inputs.
  void add_input(std::filesystem::path path);
  /// Adds a check that run() performs first, unless it continues or replaces a partial output.
  void add_check(std::function<void()> check);
  /// Adds a note that run() logs first.
  void add_note(std::string note);
  void add(std::unique_ptr<const MapStage> stage);
  void add(std::unique_ptr<Service> service);

  /// Runs to the end of the input and commits the output. Error{kInterrupted} after a stop request; the output's
  /// partial file then has the complete lines. An exception of any stage ends the run and is rethrown.
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
/// The identity of the output is the whole configuration except for paths: a partial output of another job is not
/// resumed.
///
/// Relative paths are relative to the working directory. Stages that plugins registered in the host are found by name.
/// The host must outlive the pipeline, and may load a plugin meanwhile: see Translator. `where` names the configuration
/// in messages.
///
///     const core::Json configuration = core::load_yaml("pipeline.yml");     // core/yaml.h
///     Pipeline pipeline = make_pipeline(configuration, "pipeline.yml", plugins::default_host(), /*threads=*/4);
///     pipeline.run({});
Pipeline make_pipeline(const core::Json& configuration, const std::string& where, plugins::Host& host, int threads);

}  // namespace dragoman::pipeline
