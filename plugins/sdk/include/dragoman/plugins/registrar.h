#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/collective/device_links.h>
#include <dragoman/collective/launch.h>
#include <dragoman/core/json.h>
#include <dragoman/decoding/logits_processor.h>
#include <dragoman/decoding/strategy.h>
#include <dragoman/formats/model_importer.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/pipeline_api/stage.h>
#include <dragoman/tensor/backend.h>
#include <dragoman/tensor/kernel_table.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_spec.h>

namespace dragoman::plugins {

/// Makes a model without weights. `config` is the model's own part of config.json; a key in it that the model does not
/// know is an Error{kBadInput}.
using ModelFactory =
    std::function<std::unique_ptr<nn::Seq2SeqModel>(const nn::SequenceSpec& spec, const core::Json& config)>;

/// Makes a search, for one worker; called by one thread at a time. `own` are the options that belong to this strategy
/// alone; the caller finish()es it, so a key that the factory did not ask for is an error.
using SearchStrategyFactory = std::function<std::unique_ptr<decoding::SearchStrategy>(
    const decoding::DecodingOptions& options, core::OptionReader& own)>;
/// Makes a logits processor; `own` as above.
using LogitsProcessorFactory =
    std::function<std::unique_ptr<decoding::LogitsProcessor>(const nn::SequenceSpec& spec, core::OptionReader& own)>;

/// Makes a tokenizer of a file in the plugin's own format; `own` as above. The file comes from outside: check
/// everything, and throw Error{kBadInput} that names its path, the place in it and the reason. Its content is all that
/// there is: a model folder holds a copy, and no file beside it.
using TokenizerFactory =
    std::function<std::unique_ptr<tokenizer::Tokenizer>(const tokenizer::TokenizerFile& file, core::OptionReader& own)>;

struct ModelEntry {
  std::string name;     ///< what config.json and `train` call it
  std::string summary;  ///< one line for `plugins list`
  ModelFactory make;
  /// The smallest configuration that uses every part of the model, without dropout: widths of 8 or so, two layers. The
  /// conformance kit differentiates it, so its size is what a check costs.
  core::Json example;
};

struct SearchStrategyEntry {
  std::string name;
  std::string summary;
  SearchStrategyFactory make;
};

struct LogitsProcessorEntry {
  std::string name;
  std::string summary;
  LogitsProcessorFactory make;
};

struct TokenizerEntry {
  std::string name;  ///< what config.json, `data.tokenizer.type` and `--tokenizer-type` call it
  std::string summary;
  TokenizerFactory make;
  tokenizer::TokenizerExample example = {};  ///< with every feature of the format; the conformance kit tries it
};

struct StageEntry {
  std::string name;
  std::string summary;
  pipeline::StageFactory make;
  /// Options that name files whose content decides about the lines: a job is not resumed with other content, and does
  /// not write there. And options that decide nothing about the lines.
  std::vector<std::string> input_file_options{};
  std::vector<std::string> non_semantic_options{};
};

/// Opens the models of another toolkit: see formats::OpenedModel.
using ModelImporterEntry = formats::ModelImporter;

/// Joins this process to the others of its job; called once. It waits for processes that have not come yet.
using CollectiveFactory = std::function<std::unique_ptr<collective::Collective>(const collective::Launch& launch)>;

/// A way for the processes of a job to exchange data: what collective::Launch::transport names.
struct CollectiveEntry {
  std::string name;
  std::string summary;
  CollectiveFactory make;
};

/// Links the device to those of the other processes, all of which call it, each with a device of its own.
using DeviceLinksFactory = std::function<std::unique_ptr<collective::DeviceLinks>(const collective::LinkRequest&)>;

/// A way for devices of one kind to exchange data without the host's memory: what collective::Launch::device_links
/// names.
struct DeviceLinksEntry {
  std::string name;
  std::string summary;
  std::string backend;  ///< whose devices these are
  /// What this process has for them; of the device of this number, where the backend has such a one.
  std::function<collective::LinkOffer(int device)> offer;
  DeviceLinksFactory make;
};

/// One kernel for one backend. If that is not here, the kernel waits until another plugin brings it.
struct KernelEntry {
  std::string name;  ///< of the op
  std::string backend;
  std::function<void(tensor::KernelTable&)> install;
};

/// All that one plugin adds.
struct Contributions {
  std::vector<ModelEntry> models;
  std::vector<SearchStrategyEntry> search_strategies;
  std::vector<LogitsProcessorEntry> logits_processors;
  std::vector<TokenizerEntry> tokenizers;
  std::vector<StageEntry> stages;
  std::vector<ModelImporterEntry> model_importers;
  std::vector<CollectiveEntry> collectives;
  std::vector<DeviceLinksEntry> device_links;
  std::vector<std::shared_ptr<tensor::Backend>> backends;
  std::vector<KernelEntry> kernels;
};

/// What a plugin's register function fills. Nothing takes effect before that function has returned and everything in
/// here was accepted, so a plugin is registered wholly or not at all.
///
/// Names are letters, digits, '-', '_' and '.'; a name that is empty or has other characters, and a missing factory,
/// are Error{kInvalidArgument}. Names that are taken already are refused when the function has returned. A factory that
/// returns nullptr is an Error{kInternal} of whoever called it.
class Registrar {
 public:
  void add(ModelEntry entry);
  void add(SearchStrategyEntry entry);
  void add(LogitsProcessorEntry entry);
  void add(TokenizerEntry entry);
  void add(StageEntry entry);
  void add(ModelImporterEntry entry);
  /// An installed plugin that has the name of its collective is loaded when that is asked for.
  void add(CollectiveEntry entry);
  void add(DeviceLinksEntry entry);

  /// Another kind of device, which `--device NAME` finds from then on. An installed plugin that has the name of its
  /// backend is loaded when that device is asked for.
  void add(std::shared_ptr<tensor::Backend> backend);

  /// The kernel of an op on a backend ("cpu", "reference", "cuda", or one of a plugin's). An op of the plugin's own has
  /// a KernelKey that its header declares; it needs a kernel on the CPU and on the reference backend, which is what the
  /// conformance kit compares the others with.
  template <class Result, class... Args>
  void add_kernel(std::string_view backend, tensor::KernelKey<Result(Args...)> key,
                  std::type_identity_t<Result (*)(Args...)> kernel) {
    add_kernel(KernelEntry{std::string(key.name), std::string(backend),
                           [key, kernel](tensor::KernelTable& table) { table.set(key, kernel); }});
  }

  const Contributions& contributions() const noexcept { return contributions_; }
  Contributions take() { return std::move(contributions_); }

 private:
  void add_kernel(KernelEntry entry);

  Contributions contributions_;
};

}  // namespace dragoman::plugins
