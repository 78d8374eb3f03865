#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <dragoman/core/json.h>
#include <dragoman/formats/languages.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/tensor/compute_type.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_spec.h>

namespace dragoman::formats {

/// The tokenizers named in config.json, without their content. Used if one of them is not a plain tokenizer.json.
struct StoredTokenizers {
  tokenizer::TokenizerSpec source;
  tokenizer::TokenizerSpec target;  ///< equal to `source` for a joint tokenizer
  bool joint = true;
  bool operator==(const StoredTokenizers&) const = default;
};

/// A model's tokenizers with their content: either the joint one, or both others.
struct ModelTokenizers {
  tokenizer::TokenizerSpec joint{};
  tokenizer::TokenizerSpec source{};
  tokenizer::TokenizerSpec target{};

  bool is_joint() const noexcept { return !joint.empty(); }
  const tokenizer::TokenizerSpec& of_source() const noexcept { return is_joint() ? joint : source; }
  const tokenizer::TokenizerSpec& of_target() const noexcept { return is_joint() ? joint : target; }
};

/// Creates a tokenizer that config.json names. `where` is its place there, for messages. Returns nullptr to skip
/// tokenizers of this kind; they are then not validated.
using TokenizerOpener = std::function<std::unique_ptr<tokenizer::Tokenizer>(
    const tokenizer::TokenizerSpec& tokenizer, const tokenizer::TokenizerFile& file, const std::string& where)>;

/// Opens tokenizers of built-in kinds, whatever plugin their entries name. Returns nullptr for other kinds.
std::unique_ptr<tokenizer::Tokenizer> open_built_in_tokenizer(const tokenizer::TokenizerSpec& tokenizer,
                                                              const tokenizer::TokenizerFile& file,
                                                              const std::string& where);

/// A model without its tokenizers and the values of its parameters. A model folder stores it in config.json; importers
/// read it from the files of other toolkits. load_model_config() (model_folder.h) reads a folder.
///
///     const core::Json json = core::load_json("models/de-en/config.json");
///     const ModelConfig config = read_model_config(json, "models/de-en/config.json");
///     std::cout << config.model_type << ' ' << config.sequences.target_vocabulary;
struct ModelConfig {
  /// Version 2 added `compute`, `tokenizer` and `decoding`, version 3 added `languages`. A configuration is written in
  /// the oldest version that can express it.
  static constexpr int kFormatVersion = 3;

  std::string model_type;  ///< the name under which a factory is registered: "transformer", ...
  std::string plugin;      ///< the plugin that provides the factory; empty for built-in models
  nn::SequenceSpec sequences;
  core::Json model = core::Json::object();  ///< the model's own part, which its factory validates
  /// The kinds of the tokenizers of a model folder. If not set, they are tokenizer.json files.
  std::optional<StoredTokenizers> tokenizers{};
  /// The default compute type for products with weights. Unset: the folder names none.
  std::optional<tensor::ComputeChoice> compute{};
  /// The search defaults of the model, in the form that decoding::read_model_defaults() accepts.
  core::Json decoding = core::Json::object();
  /// The tags that surround the tokens of sentences, for each language.
  LanguageTable languages{};
};

/// Reads this and all older versions. Throws Error{kUnsupported} for a newer one, and otherwise Error{kBadInput} that
/// names `where` and the key.
ModelConfig read_model_config(const core::Json& json, const std::string& where);
core::Json to_json(const ModelConfig& config);
}  // namespace dragoman::formats
