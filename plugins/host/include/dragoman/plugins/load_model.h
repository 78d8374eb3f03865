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
  /// If true, the weights are in memory that the model owns, for training. If false, they are mapped from the file
  /// where possible, read-only and shared by all processes.
  bool trainable = false;
  /// If true, plugins that config.json names may be loaded from the host's plugin folder. If false, they must be loaded
  /// already.
  bool may_load_plugin = true;
};

/// A model in memory. It is immutable during translation, so any number of threads may share it.
struct LoadedModel {
  std::unique_ptr<nn::Seq2SeqModel> model;
  /// shared_ptr, because both sides often use the same tokenizer.
  std::shared_ptr<const tokenizer::Tokenizer> source_tokenizer;
  std::shared_ptr<const tokenizer::Tokenizer> target_tokenizer;
  formats::ModelConfig config;
};

/// Returns the configuration with which load_model() loads a model. A model that an importer opened has no shortlist,
/// because only a model folder contains one in the form that searches read.
formats::ModelConfig config_of(const formats::OpenedModel& opened);
/// Opens the model at a path and returns its config_of(). Throws like Host::open_model().
formats::ModelConfig load_config(const std::filesystem::path& path, const Host& host);

/// Creates the model that an opened model's configuration names, and sets its weights in the device's float type.
///
/// - Weights of a model folder may stay mapped in the type of the file until they are packed, unless they are to be
///   trained.
/// - Weights in another toolkit's files are read into memory that the model owns.
/// - Plugins that the configuration names are loaded, if allowed.
/// - Weights are not packed; see ParameterStore::prepare().
///
/// Error{kBadInput} names the file and its fault.
LoadedModel load_model(formats::OpenedModel& opened, Host& host, const LoadModelOptions& options = {});
/// Opens the model at a path with Host::open_model() and loads it.
///
///     Host& host = default_host();                                       // host.h
///     const LoadedModel loaded = load_model("models/de-en", host);
///     const std::vector<std::int32_t> ids = loaded.source_tokenizer->encode("Guten Morgen!");
///
/// The functions of this header are thread-safe.
LoadedModel load_model(const std::filesystem::path& path, Host& host, const LoadModelOptions& options = {});

/// Returns the number of parameters of the model that load_model() would load. Reads no values and allocates no memory
/// for them. Error{kBadInput} for a configuration that the model type rejects.
std::int64_t count_parameters(const formats::OpenedModel& opened, Host& host, bool may_load_plugin = true);
std::int64_t count_parameters(const std::filesystem::path& path, Host& host, bool may_load_plugin = true);

/// Returns the function that opens the tokenizers of a model folder. It looks kinds up in the host's registry, after
/// loading the plugins that provide them, if allowed. The host must outlive it.
formats::TokenizerOpener tokenizer_opener(Host& host, bool may_load_plugin = true);

}  // namespace dragoman::plugins
