#pragma once

#include "run/checkpoint.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/core/random.h>
#include <dragoman/core/yaml.h>
#include <dragoman/plugins/host.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training::testing {

/// A language pair that is learned in seconds: sentences of letters, whose translation is the letters in reverse. Which
/// letter belongs to which stands in NAME.alignment.
struct SmallTask {
  explicit SmallTask(std::filesystem::path folder_in, std::size_t pairs = 80) : folder(std::move(folder_in)) {
    write_pairs("train", pairs, 1);
    write_pairs("valid", 12, 2);
    tokenizer::LearnOptions options;
    options.vocab_size = 12;
    options.byte_fallback = false;
    options.threads = 1;
    tokenizer::learn_bpe({file("train.source"), file("train.target")}, options).save(file("tokenizer.json"));
  }

  /// The task that another process has written to the folder.
  struct Existing {};
  SmallTask(std::filesystem::path folder_in, Existing /*tag*/) : folder(std::move(folder_in)) {}

  std::filesystem::path file(const std::string& name) const { return folder / name; }

  /// A configuration of a two-layer model of width 16; further assignments as for --set.
  core::Json tree(const std::vector<std::string>& assignments = {}) const {
    core::Json tree = core::parse_yaml(R"(
threads: 1
model: {type: transformer, d_model: 16, heads: 2, feed_forward: 32, encoder_layers: 1, decoder_layers: 1,
        dropout: {embedding: 0.1, sub_layer: 0.1, activation: 0.1, attention: 0.1},
        maximum_source_length: 32, maximum_target_length: 32}
data: {maximum_length: 32, bucket_window: 32}
training: {updates: 24, batch_tokens: 80, label_smoothing: 0.1, clip_norm: 1, report_every: 4,
           schedule: {learning_rate: 0.01, warmup: 8}}
validation: {every: 0, samples: 1, batch_tokens: 40}
checkpoint: {every: 7, keep: 2}
)",
                                       "small task");
    tree["output"] = file("run").string();
    tree["data"]["train"] = {{"source", file("train.source").string()}, {"target", file("train.target").string()}};
    tree["data"]["validation"] = {{"source", file("valid.source").string()}, {"target", file("valid.target").string()}};
    tree["data"]["tokenizer"] = file("tokenizer.json").string();
    for (const std::string& assignment : assignments) core::set_option(tree, assignment);
    return tree;
  }

  TrainingConfig config(const std::vector<std::string>& assignments = {}) const {
    return read_training_config(tree(assignments), "small task");
  }

  /// Adds a pair whose embedding of the source overflows; gives the assignments that make it do so, in a model of this
  /// width.
  std::vector<std::string> add_overflow() const {
    std::ofstream(file("train.source"), std::ios::app) << "e e\n";
    std::ofstream(file("train.target"), std::ios::app) << "a b\n";
    std::ofstream vectors(file("vectors.txt"));
    vectors << "<unk>";
    for (int i = 0; i < 16; ++i) vectors << (i % 2 == 0 ? " 1e30" : " -1e30");
    vectors << "\n";
    return {"model.tying=none", "model.norm=post", "data.embeddings.source.file=" + file("vectors.txt").string(),
            "data.embeddings.source.frozen=true"};
  }

  /// Of a run's metrics.jsonl the lines of a type, but for what time says.
  std::vector<core::Json> lines_of(const std::string& run, const std::string& type) const {
    std::vector<core::Json> lines;
    core::LineReader reader(file(run) / "metrics.jsonl");
    for (std::string line; reader.next(line);) {
      lines.push_back(core::parse_json(line, "metrics.jsonl"));
      for (const char* time : {"seconds", "data_seconds"}) lines.back().erase(time);
      if (lines.back()["type"] != type) lines.pop_back();
    }
    return lines;
  }

  /// The bytes of everything that a checkpoint holds.
  std::string checkpoint_bytes(const std::string& run, std::int64_t update) const {
    std::string bytes;
    const auto checkpoint = file(run) / ("checkpoint-" + std::to_string(update));
    for (const char* name : {"model", "first_moment", "second_moment", "row_moment", "column_moment", "average"})
      if (const auto path = checkpoint / (std::string(name) + ".safetensors"); std::filesystem::exists(path))
        bytes += core::read_file(path);
    return bytes;
  }

  std::filesystem::path folder;

 private:
  void write_pairs(const std::string& name, std::size_t pairs, std::uint64_t seed) const {
    std::ofstream source(file(name + ".source"));
    std::ofstream target(file(name + ".target"));
    std::ofstream alignment(file(name + ".alignment"));
    for (std::uint64_t i = 0; i < pairs; ++i) {
      std::string text;
      const std::uint64_t length = 2 + core::random_below(5, seed, 100, i);
      for (std::uint64_t k = 0; k < length; ++k)
        text += std::string(k == 0 ? "" : " ") + static_cast<char>('a' + core::random_below(4, seed, i, k));
      source << text << '\n';
      target << std::string(text.rbegin(), text.rend()) << '\n';
      for (std::uint64_t k = 0; k < length; ++k) alignment << (k == 0 ? "" : " ") << k << '-' << length - 1 - k;
      alignment << '\n';
    }
  }
};

/// One host for all tests of the program.
inline const plugins::Host& host() {
  static const plugins::Host instance;
  return instance;
}

/// That of configurations which the tests write themselves: they may run programs.
inline TrainerEnvironment trusting_environment() {
  TrainerEnvironment environment = make_environment(host());
  environment.allow_commands = true;
  return environment;
}

inline TrainingSummary train(const TrainingConfig& config, StartMode mode = StartMode::kFresh,
                             const std::stop_token& stop = {},
                             TrainerEnvironment environment = trusting_environment()) {
  Trainer trainer(config, std::move(environment), mode);
  return trainer.run(stop);
}

/// Stops the run when `update` updates are done.
struct StopAt {
  explicit StopAt(std::uint64_t update) {
    environment = trusting_environment();
    environment.progress = [this, update](const core::Progress& progress) {
      if (progress.stage == "train" && progress.done == update) source.request_stop();
    };
  }
  std::stop_source source;
  TrainerEnvironment environment;
};

}  // namespace dragoman::training::testing
