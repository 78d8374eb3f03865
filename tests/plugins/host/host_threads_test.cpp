// Models are made and used while plugins are registered: for ThreadSanitizer, and for what the look-ups return.

#include "planted_file.h"

#include <atomic>
#include <barrier>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include <dragoman/core/parallel.h>
#include <dragoman/decoding/score.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::plugins {
namespace {

constexpr int kThreads = 3;
const std::filesystem::path kSsru = testing::built("ssru_plugin");

struct NothingArguments {
  int nothing = 0;
};
using NothingKey = tensor::KernelKey<void(tensor::Context&, const NothingArguments&)>;

/// What a plugin of this number brings: a model, a stage, and a kernel on the CPU.
Contributions guest(const std::string& name) {
  Registrar registrar;
  registrar.add(ModelEntry{name, "", [](const nn::SequenceSpec&, const core::Json&) { return nullptr; }, {}});
  registrar.add(StageEntry{name, "", [](core::OptionReader&) { return nullptr; }});
  registrar.add_kernel("cpu", NothingKey{name}, [](tensor::Context&, const NothingArguments&) {});
  return registrar.take();
}

class HostThreads : public ::testing::Test {
 protected:
  HostThreads() {
    std::ofstream(folder_ / "corpus") << "the cat sat on the mat\nthe dog sat on the log\n";
    const std::vector<std::filesystem::path> inputs = {folder_ / "corpus"};
    tokenizer::LearnOptions learn;
    learn.vocab_size = 300;
    const auto tokenizer = tokenizer::learn_bpe(inputs, learn);
    const Host host({.plugins = {kSsru.string()}});
    const ModelEntry& entry = host.registry().models().get("ssru");
    nn::SequenceSpec spec;
    spec.source_vocabulary = spec.target_vocabulary = tokenizer.size();
    const auto model = entry.make(spec, entry.example);
    model->parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
    model->parameters().initialise(5);
    formats::write_model_folder(folder_ / "model", {.model_type = "ssru",
                                                    .plugin = "ssru",
                                                    .model = model.get(),
                                                    .tokenizer = {.content = tokenizer.to_json()},
                                                    .card = "test",
                                                    .metadata = {}});
  }

  std::filesystem::path model() const { return folder_ / "model"; }

  /// The log probability of a sentence pair by a model that is loaded for it.
  double load_and_score(Host& host) const {
    const LoadedModel loaded = load_model(model(), host);
    core::SequentialExecutor executor;
    const auto context = host.runtime().make_context(tensor::Device::kCpu, executor);
    const std::vector<std::int32_t> source{5, 6, 7, loaded.config.sequences.end}, target{8, 9};
    const std::vector<std::int32_t> source_offsets{0, 4}, target_offsets{0, 2};
    return decoding::score(*loaded.model, *context, {source, source_offsets}, {target, target_offsets})
        .front()
        .log_probability;
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(HostThreads, ModelsAreLoadedAndUsedWhilePluginsAreRegistered) {
  constexpr int kPlugins = 40;
  std::vector<std::string> names;  // kernel tables refer to them
  for (int i = 0; i < kPlugins; ++i) names.push_back("guest" + std::to_string(i));
  Host alone({.plugin_folder = kSsru.parent_path()});
  const double expected = load_and_score(alone);

  Host host({.plugin_folder = kSsru.parent_path()});
  std::barrier start(kThreads + 2);
  std::atomic<int> equal = 0, seen = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      start.arrive_and_wait();  // all of them need the plugin ssru at once
      for (int round = 0; round < 4; ++round) equal += load_and_score(host) == expected ? 1 : 0;
    });
  threads.emplace_back([&] {
    start.arrive_and_wait();
    for (const std::string& name : names) host.registry().add(name, guest(name));
    host.loader().load(planted_file("good"));
  });
  threads.emplace_back([&] {
    const auto& kept = host.registry().models().all();
    const std::size_t size = kept.size();
    const ModelEntry& transformer = host.registry().models().get("transformer");
    start.arrive_and_wait();
    for (const std::string& name : names) {
      while (host.registry().stages().find(name) == nullptr) std::this_thread::yield();
      // A plugin's parts appear together.
      seen += host.registry().models().find(name) != nullptr ? 1 : 0;
      seen += host.runtime().kernels(tensor::Device::kCpu).find(NothingKey{name}) != nullptr ? 1 : 0;
    }
    seen += kept.size() == size && &host.registry().models().get("transformer") == &transformer ? 1 : 0;
  });
  threads.clear();
  EXPECT_EQ(equal, 4 * kThreads);
  EXPECT_EQ(seen, 2 * kPlugins + 1);
  EXPECT_EQ(host.loader().loaded().size(), 2U) << "ssru was loaded once";
  EXPECT_EQ(host.registry().stages().find("shout")->provider, "good");
}

TEST_F(HostThreads, TheDefaultHostIsOneForAllThreads) {
  std::vector<Host*> hosts(kThreads);
  std::vector<std::jthread> threads;
  for (Host*& host : hosts) threads.emplace_back([&host] { host = &default_host(); });
  threads.clear();
  for (const Host* host : hosts) EXPECT_EQ(host, &default_host());
  EXPECT_NE(default_host().registry().models().find("transformer"), nullptr);
  EXPECT_EQ(default_host().loader().folder(), installed_plugin_folder());
}

}  // namespace
}  // namespace dragoman::plugins
