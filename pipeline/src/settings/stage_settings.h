#pragma once

#include <string>
#include <vector>

#include <dragoman/core/option_table.h>
#include <dragoman/pipeline/ensemble.h>
#include <dragoman/pipeline/record_io.h>
#include <dragoman/pipeline/translate_service.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/host.h>
#include <dragoman/tokenizer/tokenizer_spec.h>

namespace dragoman::pipeline {

// The settings of each stage, and the tables of their options. File names without a sensible default are empty until
// they are set.

struct ReadSettings {
  std::vector<std::string> paths;  ///< empty: standard input
  Shard shard;
  RecordFormat format = RecordFormat::kText;
  std::string key = "source";
  std::uint64_t column = 1;
  std::string target_prefix_file;
  std::uint64_t target_prefix_column = 0;
  std::uint64_t source_language_column = 0;
  std::uint64_t target_language_column = 0;
};
const core::OptionTable<ReadSettings>& read_table();

struct WriteSettings {
  std::string path = "-";
  RecordFormat format = RecordFormat::kText;
  std::uint64_t column = 1;
  bool resume = false;
  bool overwrite = false;
  bool stream = false;
};
const core::OptionTable<WriteSettings>& write_table();

struct SplitSettings {
  std::string locale = "en";
  Markup markup = Markup::kNone;
};
const core::OptionTable<SplitSettings>& split_table();

struct NormalizeSettings {
  std::string form = "nfc";
  bool lowercase = false;
};
const core::OptionTable<NormalizeSettings>& normalize_table();

struct EncodeSettings {
  std::string tokenizer;
  tokenizer::TokenizerSpec spec;
  bool ids = false;
};
const core::OptionTable<EncodeSettings>& encode_table();

struct DecodeSettings {
  std::string tokenizer;
  tokenizer::TokenizerSpec spec;
  bool ids = false;
};
const core::OptionTable<DecodeSettings>& decode_table();

/// The settings of the stage `translate`. Objects that only a host can create are given by name: see
/// prepare_translate_options().
struct TranslateSettings {
  std::string model;
  TranslateOptions options;
  ModelOptions machine;  ///< except for the device and the number type
  std::optional<tensor::ComputeChoice> compute = tensor::ComputeChoice::kAuto;  ///< ModelOptions::compute
  EnsembleOptions ensemble;
  std::string suppress_file;
  std::string glossary;
  core::Json decoder_options = core::Json::object();    ///< options of a plugin's decoder, which reads them itself
  core::Json logits_processors = core::Json::object();  ///< of plugins: name to options, which the plugin reads itself
  std::string device = "cpu";
  bool batch_invariant = false;
  std::string memory;  ///< of the device
};
const core::OptionTable<TranslateSettings>& translate_table();

/// Reads settings with their table. Error{kBadInput} if the key `needed` is missing.
template <class Settings>
Settings read_settings(core::OptionReader& options, const core::OptionTable<Settings>& table, const char* needed = "") {
  if (*needed != '\0') options.require_key<std::string>(needed);
  Settings settings;
  table.read(options, settings);
  return settings;
}

/// The options of the pipeline stage `translate`, except for the path of the model.
struct TranslateStageOptions {
  ModelOptions model{};
  EnsembleOptions ensemble{};
  TranslateOptions translate{};
};

/// Creates the device, strategy, processors and glossary that the settings name. May load the plugin of a device.
/// `model_defaults` are the search defaults of the model's folder. An option that the search does not use is accepted
/// if it repeats one of these. Error{kBadInput} for settings that exclude each other.
TranslateStageOptions prepare_translate_options(TranslateSettings settings, const core::OptionReader& options,
                                                plugins::Host& host, const decoding::Search& model_defaults);

}  // namespace dragoman::pipeline
