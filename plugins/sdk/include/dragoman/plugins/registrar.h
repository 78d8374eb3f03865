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

/// Creates a model without weights. `config` is the model's part of config.json. Error{kBadInput} for a key that the
/// model does not know.
using ModelFactory =
    std::function<std::unique_ptr<nn::Seq2SeqModel>(const nn::SequenceSpec& spec, const core::Json& config)>;

/// Creates a search strategy for one worker; one thread calls it at a time. `own` has the options that only this
/// strategy has. The caller calls own.finish(), so a key that the factory did not read is an error.
using SearchStrategyFactory = std::function<std::unique_ptr<decoding::SearchStrategy>(
    const decoding::DecodingOptions& options, core::OptionReader& own)>;
/// Creates a logits processor. `own` is read as by SearchStrategyFactory.
using LogitsProcessorFactory =
    std::function<std::unique_ptr<decoding::LogitsProcessor>(const nn::SequenceSpec& spec, core::OptionReader& own)>;

/// Creates a tokenizer from a file in the plugin's own format. `own` is read as by SearchStrategyFactory. The file is
/// untrusted: check everything, and throw Error{kBadInput} that names the path, the place in the file and the reason.
/// Use only the content of the file, because a model folder stores a copy of it and no other files.
using TokenizerFactory =
    std::function<std::unique_ptr<tokenizer::Tokenizer>(const tokenizer::TokenizerFile& file, core::OptionReader& own)>;

/// A type of model.
struct ModelEntry {
  std::string name;     ///< the name in config.json and in `train`
  std::string summary;  ///< one line for `plugins list`
  ModelFactory make;
  /// The smallest configuration that uses every part of the model, without dropout: widths of about 8, two layers. The
  /// conformance kit differentiates it, so its size determines the cost of a check.
  core::Json example;
};

/// A search strategy.
struct SearchStrategyEntry {
  std::string name;
  std::string summary;
  SearchStrategyFactory make;
};

/// A logits processor.
struct LogitsProcessorEntry {
  std::string name;
  std::string summary;
  LogitsProcessorFactory make;
};

/// A kind of tokenizer file.
struct TokenizerEntry {
  std::string name;  ///< the name in config.json, `data.tokenizer.type` and `--tokenizer-type`
  std::string summary;
  TokenizerFactory make;
  tokenizer::TokenizerExample example = {};  ///< uses every feature of the format; the conformance kit tests it
};

/// A stage of pipelines.
struct StageEntry {
  std::string name;
  std::string summary;
  pipeline::StageFactory make;
  /// `input_file_options` name files whose contents affect the output lines. A job is not resumed if their contents
  /// have changed, and never writes to them. `non_semantic_options` do not affect the output lines.
  std::vector<std::string> input_file_options{};
  std::vector<std::string> non_semantic_options{};
};

/// Opens the models of another toolkit; see formats::OpenedModel.
using ModelImporterEntry = formats::ModelImporter;

/// Joins this process to the other processes of its job. Called once. Waits for processes that have not joined yet.
using CollectiveFactory = std::function<std::unique_ptr<collective::Collective>(const collective::Launch& launch)>;

/// A way for the processes of a job to exchange data, selected by collective::Launch::transport.
struct CollectiveEntry {
  std::string name;
  std::string summary;
  CollectiveFactory make;
};

/// Links a device to the devices of the other processes. All processes call it, each with its own device.
using DeviceLinksFactory = std::function<std::unique_ptr<collective::DeviceLinks>(const collective::LinkRequest&)>;

/// A way for devices of one kind to exchange data without host memory, selected by collective::Launch::device_links.
struct DeviceLinksEntry {
  std::string name;
  std::string summary;
  std::string backend;  ///< the backend of the devices
  /// Returns the offer of this process for the backend's device of this number, if it exists.
  std::function<collective::LinkOffer(int device)> offer;
  DeviceLinksFactory make;
};

/// One kernel for one backend. If the backend is not registered, the kernel waits until a plugin registers it.
struct KernelEntry {
  std::string name;  ///< the name of the op
  std::string backend;
  std::function<void(tensor::KernelTable&)> install;
};

/// Everything that one plugin adds.
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

/// Collects the contributions of a plugin in its register function. They take effect after that function has returned
/// and all of them were accepted. So a plugin is registered completely or not at all.
///
/// Names consist of letters, digits, '-', '_' and '.'. Error{kInvalidArgument} for any other name, for an empty name
/// and for a missing factory. Names that are already taken are rejected when the function has returned. A factory that
/// returns nullptr is an Error{kInternal} at its call.
///
///     void register_mine(Registrar& registrar) {
///       registrar.add(ModelEntry{.name = "my-transformer",
///                                .summary = "the Transformer under another name",
///                                .make = transformer::make_transformer,     // transformer/transformer.h
///                                .example = core::Json{{"d_model", 8}, {"heads", 2}}});
///     }
///
/// The registrar is valid during the register function only. The host's registry owns the entries afterwards.
/// Unless its contract states otherwise, a factory may be called by several threads at the same time.
class Registrar {
 public:
  void add(ModelEntry entry);
  void add(SearchStrategyEntry entry);
  void add(LogitsProcessorEntry entry);
  void add(TokenizerEntry entry);
  void add(StageEntry entry);
  void add(ModelImporterEntry entry);
  /// An installed plugin with the name of its collective is loaded when that collective is requested.
  void add(CollectiveEntry entry);
  void add(DeviceLinksEntry entry);

  /// Adds a kind of device, which `--device NAME` then finds. An installed plugin with the name of its backend is
  /// loaded when that device is requested.
  void add(std::shared_ptr<tensor::Backend> backend);

  /// Adds the kernel of an op for a backend ("cpu", "reference", "cuda", or a plugin's). A plugin's own op declares a
  /// KernelKey in its header. It needs kernels for the CPU and the reference backend, because the conformance kit
  /// compares all others with the reference.
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
