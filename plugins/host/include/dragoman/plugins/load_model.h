#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/opened_model.h>
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

/// A model in memory. Immutable as far as translation goes: any number of threads may share it.
struct LoadedModel {
  std::unique_ptr<nn::Seq2SeqModel> model;
  /// shared_ptr: both sides often have one and the same tokenizer.
  std::shared_ptr<const tokenizer::Tokenizer> source_tokenizer;
  std::shared_ptr<const tokenizer::Tokenizer> target_tokenizer;
  formats::ModelConfig config;
};

/// Returns the configuration with which load_model() loads a model. For a model that an importer opened it has no
/// shortlist: only a model folder contains one in the form that searches read.
formats::ModelConfig config_of(const formats::OpenedModel& opened);
/// Opens the model at a path and returns its config_of(). Throws as Host::open_model() does.
formats::ModelConfig load_config(const std::filesystem::path& path, const Host& host);

/// Makes the model that the configuration of an opened model names and sets its weights, in the device's float type.
/// Weights of a model folder that are not to be trained may stay mapped in the type of the file until they are packed.
/// Weights in another toolkit's files are read into memory that the model owns. The plugins that the configuration
/// names are loaded, if allowed. Weights are not packed: see ParameterStore::prepare. Error{kBadInput} names the file
/// and its fault.
LoadedModel load_model(formats::OpenedModel& opened, Host& host, const LoadModelOptions& options = {});
/// Opens the model at a path with Host::open_model() and loads it.
LoadedModel load_model(const std::filesystem::path& path, Host& host, const LoadModelOptions& options = {});

/// Returns the number of parameters of the model that load_model() would load. It reads none of their values and
/// allocates no memory for them. Error{kBadInput} for a configuration that the model's type refuses.
std::int64_t count_parameters(const formats::OpenedModel& opened, Host& host, bool may_load_plugin = true);
std::int64_t count_parameters(const std::filesystem::path& path, Host& host, bool may_load_plugin = true);

/// Opens the tokenizers of a model folder: looks kinds up in the host's registry, after loading, if allowed, the
/// plugins that bring them. The host must outlive it.
formats::TokenizerOpener tokenizer_opener(Host& host, bool may_load_plugin = true);

}  // namespace dragoman::plugins
