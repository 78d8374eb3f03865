#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include <dragoman/formats/model_folder.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/plugins/host.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::plugins {

struct LoadModelOptions {
  tensor::Device device = tensor::Device::kCpu;
  /// Weights in memory of our own, for training; else mapped from the file where that is possible, read-only and shared
  /// by all processes.
  bool trainable = false;
  /// Whether the plugins that config.json names may be loaded from the host's plugin folder. If not, they must be
  /// loaded already.
  bool may_load_plugin = true;
};

/// A model folder in memory. Immutable as far as translation goes: any number of threads may share it.
struct LoadedModel {
  std::unique_ptr<nn::Seq2SeqModel> model;
  /// shared_ptr: both sides often have one and the same tokenizer.
  std::shared_ptr<const tokenizer::Tokenizer> source_tokenizer;
  std::shared_ptr<const tokenizer::Tokenizer> target_tokenizer;
  formats::ModelConfig config;
};

/// What config.json of a model folder says. Of a folder or file that is none, and that a registered importer knows,
/// what that says of it, without the tokenizers: it can be opened as it is. Throws as formats::load_model_config() and
/// the importer do.
formats::ModelConfig load_config(const std::filesystem::path& path, const Registry& registry);

/// Opens a model folder, makes the model that its config.json names and gives it its weights, in the device's float
/// type; those that are not to be trained may stay mapped in the type that the file has, until they are packed. Loads,
/// if allowed, the plugins that config.json names. Weights are not packed: see ParameterStore::prepare.
/// Error{kBadInput} names the file and what is wrong in it.
///
/// A folder or file of another toolkit that a registered importer recognises is opened as it is, with the importer's
/// usual options: its weights are read into memory of our own. A shortlist that it brings is left out.
LoadedModel load_model(const std::filesystem::path& folder, Host& host, const LoadModelOptions& options = {});

/// How many parameters the model has that load_model() would open, as its files describe it: none of their values is
/// read, and no memory is taken for any. Throws as load_config() does; Error{kBadInput} for a configuration that the
/// model's type refuses.
std::int64_t count_parameters(const std::filesystem::path& path, Host& host, bool may_load_plugin = true);

/// Opens the tokenizers of a model folder: looks kinds up in the host's registry, after loading, if allowed, the
/// plugins that bring them. The host must outlive it.
formats::TokenizerOpener tokenizer_opener(Host& host, bool may_load_plugin = true);

}  // namespace dragoman::plugins
