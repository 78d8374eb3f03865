#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/pipeline/translate_service.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::pipeline {

/// Reads the options of the pipeline stage `translate`, which find_built_in_stage("translate") lists; keys are spelled
/// with '_'. May load the plugin of a device: see Translator. A value out of its range is an Error{kBadInput} that
/// names its key.
/// `usual` is what the model's folder says of its search: only what differs must be of use to the search.
TranslateOptions read_translate_options(core::OptionReader& options, plugins::Host& host,
                                        const decoding::DecodingOptions& usual = {});

/// What a model folder says of its search (config.json, `decoding`), and the program's defaults besides. Throws as
/// formats::load_model_config().
TranslateOptions usual_translate_options(const std::filesystem::path& model_folder);
/// The same also of a model of another toolkit that can be opened as it is.
TranslateOptions usual_translate_options(const std::filesystem::path& model, const plugins::Host& host);

/// How a model is made ready to translate.
struct Packing {
  tensor::Device device = tensor::Device::kCpu;
  /// Nothing: what the model's folder says.
  std::optional<tensor::ComputeChoice> compute{};
  bool allow_non_finite = false;
  /// That load; as for core::thread_count().
  int threads = 0;
  EnsembleOptions ensemble{};
  ShortlistSettings shortlist{};
};
Packing packing_of(const TranslateOptions& options);

/// A model folder ready to translate: loaded, packed for inference, with its tokenizers; or several folders that
/// translate together. Immutable; threads share it.
class LoadedTranslationModel {
 public:
  /// May load a plugin: see Translator. Throws as plugins::load_model and decoding::Shortlist::read; and unless
  /// non-finite values are allowed, Error{kBadInput} that names the tensor which holds one, as for models of an
  /// ensemble that do not go together.
  LoadedTranslationModel(const std::filesystem::path& folder, plugins::Host& host, const Packing& packing = {});
  /// What its weights are multiplied in, on this machine.
  tensor::ComputeType compute_type() const noexcept { return compute_type_; }
  TranslationModel view() const;

 private:
  plugins::LoadedModel loaded_;
  std::vector<std::unique_ptr<const LoadedTranslationModel>> others_;  ///< of an ensemble
  std::vector<double> weights_;
  decoding::EnsembleMean mean_;
  tensor::ComputeType compute_type_;
  std::optional<decoding::Shortlist> shortlist_;
};

/// The embedded API: text in, text out.
///
///     dragoman::plugins::Host host;
///     dragoman::pipeline::Translator translator("models/de-en", host);
///     std::string english = translator.translate("Guten Morgen!");
///
/// Calls from any number of threads share the workers of one engine, which live as long as the translator; a record may
/// have options of its own. Throws core::Error. Making one may load a plugin into the host (a model of a plugin's type,
/// a device by name), and that must not overlap with anything else that uses the host, the translate() of another
/// Translator included: make them all first, or let the host load its plugins at the start.
class Translator {
 public:
  /// With usual_translate_options(). The host must outlive the translator.
  Translator(const std::filesystem::path& model_folder, plugins::Host& host);
  Translator(const std::filesystem::path& model_folder, plugins::Host& host, const TranslateOptions& options);
  ~Translator();
  Translator(Translator&&) noexcept;
  Translator& operator=(Translator&&) noexcept;

  std::string translate(std::string_view text);
  std::string translate(std::string_view text, const RecordOptions& options);
  /// One result per line, in order.
  std::vector<std::string> translate(std::span<const std::string> lines);
  std::vector<std::string> translate(std::span<const std::string> lines, const RecordOptions& options);
  /// With scores, tokens and alternatives in Record::fields if the options ask for details.
  std::vector<Record> translate(std::vector<Record> records);
  std::vector<Record> translate(std::vector<Record> records, const RecordOptions& options);

  /// Called once, by a worker of the engine: the translated record, or why there is none. It must be quick, must not
  /// throw, and must not call the translator.
  using Done = std::function<void(Record, std::exception_ptr)>;
  /// Returns when the record is on its way; waits only where megabytes of records are. All that is under way when the
  /// translator is destroyed ends with Error{kInterrupted}.
  void submit(Record record, RecordOptions options, Done done);
  /// The same with the result, or the error, in a future. What RecordOptions::stop, on_partial and on_sentence say
  /// holds here and there: a request can be watched and cancelled by itself.
  std::future<Record> submit(Record record, RecordOptions options = {});
  std::future<std::string> submit(std::string_view text, RecordOptions options = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
