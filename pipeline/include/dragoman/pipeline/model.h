#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <dragoman/decoding/loop_limits.h>
#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/device.h>

namespace dragoman::decoding {
class Shortlist;
}
namespace dragoman::engine {
class TranslationEngine;
}
namespace dragoman::formats {
struct ModelConfig;
}
namespace dragoman::plugins {
class Host;
}
namespace dragoman::tokenizer {
class Tokenizer;
}

namespace dragoman::pipeline {

struct EnsembleOptions;    // ensemble.h
struct ModelView;          // model_view.h
struct ShortlistSettings;  // translate_service.h

/// The device of a model: either a name, which the host resolves when the model is loaded, or a device that the host
/// has already resolved.
class DeviceChoice {
 public:
  DeviceChoice() = default;                                            ///< the CPU
  DeviceChoice(tensor::Device device) : device_(device) {}             // NOLINT: meant to be implicit
  DeviceChoice(std::string name) : name_(std::move(name)) {}           // NOLINT
  DeviceChoice(const char* name) : DeviceChoice(std::string(name)) {}  // NOLINT

  /// Resolves a name as plugins::Host::device() does, which may load the plugin of the device.
  tensor::Device resolve(plugins::Host& host) const;

 private:
  std::string name_{};
  tensor::Device device_{};
};

/// How a model is loaded, packed and run.
struct ModelOptions {
  /// The number of worker threads, which all users of the model share. 0: the number of cores that the process may use.
  /// The model has fewer workers if the operating system refuses to start more. Results do not depend on the number.
  int threads = 0;
  /// "cpu", "cuda", "cuda:1", "auto", ...
  DeviceChoice device{};
  /// The number type of matrix products. Unset: the type that the model folder specifies, or fp32. kAuto: the type that
  /// the folder specifies, or the fastest type of the device that translates as well; see numerics.md.
  std::optional<tensor::ComputeChoice> compute{};
  /// Whether weights may be NaN or infinite. For research.
  bool allow_non_finite = false;
  /// Whether idle workers share the steps of busy ones: see engine::EngineOptions. Results do not depend on it.
  bool latency = true;
  /// Limits of each worker.
  decoding::LoopLimits limits{};
};

/// A model that is ready for use: loaded, packed for inference, with its tokenizers and its workers. Copies are handles
/// of one model. Translator, Scorer, Embedder, Aligner and Reranker all take a Model, so none of them loads or packs
/// anything again. Thread-safe: any number of threads may share a model and create translators from it.
///
///     const Model model("models/de-en", {.threads = 4, .device = "auto"});
///     std::cout << model.source_tokenizer()->size();                  // tokenizer/tokenizer.h
///
/// The path is a model folder, or a file or folder of another toolkit that a registered importer recognises.
class Model {
 public:
  /// Uses plugins::default_host(). Throws core::Error as plugins::load_model() does. A non-finite weight is an
  /// Error{kBadInput} that names its tensor, unless allow_non_finite is set. A stop request ends the constructors soon,
  /// with Error{kInterrupted}.
  explicit Model(const std::filesystem::path& path, const ModelOptions& options = {}, const std::stop_token& stop = {});
  /// The host must outlive the model.
  Model(const std::filesystem::path& path, plugins::Host& host, const ModelOptions& options = {},
        const std::stop_token& stop = {});
  /// Loads an ensemble: this model first, then the models of `ensemble`, all with these options. Error{kBadInput} if
  /// the models differ in tokenizers or vocabularies.
  Model(const std::filesystem::path& path, plugins::Host& host, const ModelOptions& options,
        const EnsembleOptions& ensemble, const std::stop_token& stop = {});

  const std::filesystem::path& path() const noexcept;
  const ModelOptions& options() const noexcept;
  plugins::Host& host() const noexcept;
  tensor::Device device() const noexcept;
  /// Returns the further models of an ensemble.
  const std::vector<Model>& others() const noexcept;
  /// Returns the number type of matrix products on this machine. Models of an ensemble may have different ones.
  tensor::ComputeType compute_type() const noexcept;
  /// Returns the content of config.json.
  const formats::ModelConfig& config() const noexcept;
  /// Return the tokenizers. Both are the same object if the model has a joint tokenizer.
  const std::shared_ptr<const tokenizer::Tokenizer>& source_tokenizer() const noexcept;
  const std::shared_ptr<const tokenizer::Tokenizer>& target_tokenizer() const noexcept;

  /// Returns the parts of the model, for code that uses them directly. Valid while a handle of the model exists.
  ModelView view() const;
  /// Returns the workers that all users of this model share. They start with the first request.
  engine::TranslationEngine& engine() const;
  /// Returns the shortlist that the settings name, otherwise the shortlist of the model's folder. It is read once per
  /// model. nullptr if there is none, and for the shortlist of the folder if this is an ensemble. Error{kUnsupported}
  /// if the settings name a shortlist for an ensemble.
  std::shared_ptr<const decoding::Shortlist> shortlist(const ShortlistSettings& settings) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
