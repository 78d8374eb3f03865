#pragma once

#include <string>
#include <vector>

#include <dragoman/core/option_table.h>
#include <dragoman/pipeline/record_io.h>
#include <dragoman/pipeline/translate_service.h>
#include <dragoman/tokenizer/tokenizer_kind.h>

namespace dragoman::pipeline {

// What each stage is told, and the table of its options. A file has no default where there is no sensible one: then its
// name is empty until somebody says it.

struct ReadSettings {
  std::vector<std::string> paths;  ///< none: standard input
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
};
const core::OptionTable<SplitSettings>& split_table();

struct NormalizeSettings {
  std::string form = "nfc";
  bool lowercase = false;
};
const core::OptionTable<NormalizeSettings>& normalize_table();

struct EncodeSettings {
  std::string tokenizer;
  tokenizer::TokenizerKind kind;
  bool ids = false;
};
const core::OptionTable<EncodeSettings>& encode_table();

struct DecodeSettings {
  std::string tokenizer;
  tokenizer::TokenizerKind kind;
  bool ids = false;
};
const core::OptionTable<DecodeSettings>& decode_table();

/// Names stand for what only a host can say: see read_translate_options().
struct TranslateSettings {
  std::string model;
  TranslateOptions options;
  std::string suppress_file;
  std::string glossary;
  core::Json decoder_options = core::Json::object();    ///< of a plugin's decoder, which reads them itself
  core::Json logits_processors = core::Json::object();  ///< of plugins: name to options, which it reads itself
  std::string device = "cpu";
  bool batch_invariant = false;
  std::string memory;  ///< of the device
  bool ignore_model_defaults = false;
};
const core::OptionTable<TranslateSettings>& translate_table();

/// Settings from their table; a key of `needed` that is missing is an Error{kBadInput}.
template <class Settings>
Settings read_settings(core::OptionReader& options, const core::OptionTable<Settings>& table, const char* needed = "") {
  if (*needed != '\0') options.require_key<std::string>(needed);
  Settings settings;
  table.read(options, settings);
  return settings;
}

}  // namespace dragoman::pipeline
