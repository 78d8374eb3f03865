#include "fairseq/importer.h"

#include "fairseq/checkpoint.h"
#include "fairseq/example.h"
#include "fairseq/unrecognised.h"
#include "tokens/fit_tokenizer.h"
#include "tokens/plain_file.h"
#include "tokens/vocabulary.h"
#include "torch/torch_file.h"
#include "weights/bart_names.h"
#include "weights/config_reader.h"
#include "weights/planned_model.h"
#include "weights/transformer_names.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Quoted;
using std::filesystem::path;
using transformer::NormPlace;
using transformer::Tying;

/// Features of fairseq's Transformers that Dragoman lacks, each with the setting that enables it.
struct Unknown {
  const char* key;
  const char* what;
};
constexpr Unknown kRefusedFlags[] = {
    {"no_token_positional_embeddings", "models without positions are not of models here"},
    {"adaptive_input", "adaptive inputs are not of models here"},
    {"no_cross_attention", "decoders without attention to the source are not of models here"},
    {"cross_self_attention", "merged attention is not of models here"},
    {"no_decoder_final_norm", "norms in front of sub-layers without one behind the decoder are not of models here"},
    {"merge_src_tgt_embed", "merged tables of both sides are not read"},
    {"char_inputs", "characters as inputs are not of models here"},
    {"encoder_xformers_att_config", "attention of xformers is not of models here"},
    {"base_layers", "mixtures of experts (BASE layers) are not of models here"},
    {"moe_freq", "mixtures of experts are not of models here"},
    {"adaptive_softmax_cutoff", "an adaptive softmax is not of models here"},
};

constexpr std::string_view kEmbedding = "embed_tokens.weight";

bool is_checkpoint_name(const path& file) {
  return file.extension() == ".pt";
}

/// Returns files like dict.de.txt.
std::vector<path> dictionaries_of(const path& folder) {
  std::vector<path> found;
  for (const path& file : core::list_folder(folder)) {
    const std::string name = file.filename().string();
    if (name.starts_with("dict.") && name.ends_with(".txt") && name.size() > 9) found.push_back(file);
  }
  return found;
}

/// Returns the checkpoint of a folder: the best one, else the last one, else the only one.
path find_checkpoint(const path& folder) {
  for (const char* name : {"checkpoint_best.pt", "checkpoint_last.pt", "model.pt"})
    if (is_file(folder / name)) return folder / name;
  std::vector<path> found;
  for (const path& file : core::list_folder(folder))
    if (is_file(file) && is_checkpoint_name(file)) found.push_back(file);
  core::require(found.size() == 1, ErrorCode::kInvalidArgument,
                "{}: holds {} checkpoints (.pt), and none of them is checkpoint_best.pt; name the one that is meant",
                folder.string(), found.size());
  return found.front();
}

class FairseqModel {
 public:
  FairseqModel(const path& from, core::OptionReader& own)
      : from_(from),
        folder_(std::filesystem::is_directory(from) ? from : from.parent_path()),
        file_(std::filesystem::is_directory(from) ? find_checkpoint(from) : from),
        dictionaries_{own.get("dictionary", ""), own.get("source_dictionary", ""), own.get("target_dictionary", "")},
        tokenizers_{own.get("tokenizer", ""), own.get("source_tokenizer", ""), own.get("target_tokenizer", "")},
        checkpoint_(open_fairseq_checkpoint(file_)),
        settings_(checkpoint_.settings, file_.string() + ": settings") {
    if (folder_.empty()) folder_ = ".";
    if (tokenizers_.empty()) tokenizers_ = find_tokenizers(folder_);
  }

  std::unique_ptr<formats::OpenedModel> open() && {
    require_known();
    read_shape();
    read_tables();
    read_vocabularies();
    const bool all = shape_.config.tying == Tying::kAll;
    const BartNames names({.prefix = "",
                           .shared = all ? "encoder." + std::string(kEmbedding) : "",
                           .output = "decoder.output_projection.weight"});
    WeightPlan plan = plan_transformer(shape_, names);
    check_plan(plan, *checkpoint_.weights, [this](std::string_view name) { return is_ignored(name); });
    formats::ModelContents known = contents();
    return std::make_unique<PlannedModel>(from_, std::move(known), std::move(checkpoint_.weights), std::move(plan));
  }

 private:
  void require_known() const {
    const std::string arch = settings_.text("arch", settings_.text("_name", "").c_str());
    if (!arch.starts_with("transformer") || arch.starts_with("transformer_lm"))
      settings_.refuse("arch", fmt::format("is {}; Transformers with an encoder and a decoder (transformer...) can be "
                                           "imported",
                                           core::quote(arch)));
    if (!checkpoint_.task.empty() && checkpoint_.task != "translation")
      settings_.refuse(
          "task", fmt::format("is {}; models of the task translation can be imported", core::quote(checkpoint_.task)));
    for (const Unknown& unknown : kRefusedFlags) {
      const core::Json* value = settings_.find(unknown.key);
      const bool set = value != nullptr && *value != core::Json(false) && *value != core::Json(0) &&
                       *value != core::Json("") && !(value->is_array() && value->empty());
      if (set) settings_.refuse(unknown.key, unknown.what);
    }
  }

  std::int64_t shared(const char* name, std::int64_t fallback) const {
    const std::string encoder = fmt::format("encoder_{}", name);
    const std::string decoder = fmt::format("decoder_{}", name);
    const std::int64_t value = settings_.size(encoder.c_str(), fallback);
    const std::int64_t other = settings_.size(decoder.c_str(), value);
    if (other != value)
      settings_.refuse(decoder,
                       fmt::format("is {} and {} is {}; both stacks must have the same", other, encoder, value));
    return value;
  }
  bool shared_flag(const char* name) const {
    const std::string encoder = fmt::format("encoder_{}", name);
    const std::string decoder = fmt::format("decoder_{}", name);
    const bool value = settings_.flag(encoder.c_str(), false);
    if (settings_.flag(decoder.c_str(), false) != value)
      settings_.refuse(decoder,
                       fmt::format("is {} and {} is {}; both stacks must be the same", !value, encoder, value));
    return value;
  }
  double rate(const char* key, double fallback) const {
    const double value = settings_.number(key, fallback);
    if (value < 0 || value >= 1) settings_.refuse(key, "must be at least 0 and below 1", ErrorCode::kBadInput);
    return value;
  }

  void read_shape() {
    transformer::Config& config = shape_.config;
    config.d_model = shared("embed_dim", 512);
    config.feed_forward = shared("ffn_embed_dim", 2048);
    config.heads = static_cast<int>(shared("attention_heads", 8));
    config.encoder_layers = static_cast<int>(settings_.integer("encoder_layers", 6, 1, 1024));
    config.decoder_layers = static_cast<int>(settings_.integer("decoder_layers", 6, 1, 1024));
    const bool pre = shared_flag("normalize_before");
    config.norm = pre ? NormPlace::kPre : NormPlace::kPost;
    config.final_norm = pre;
    config.layer_norm_epsilon = 1e-5;
    config.query_scaling = transformer::QueryScalingPlace::kEarly;
    config.embedding_norm = settings_.flag("layernorm_embedding", false);
    config.embedding_scale = !settings_.flag("no_scale_embedding", false);
    config.positions = shared_flag("learned_pos") ? nn::PositionKind::kLearned : nn::PositionKind::kTensor2Tensor;
    config.position_offset = 2;  // positions are numbered after the padding's id, 1
    read_activation();
    config.dropout = {.embedding = rate("dropout", 0.1),
                      .sub_layer = rate("dropout", 0.1),
                      .activation = std::max(rate("activation_dropout", 0), rate("relu_dropout", 0)),
                      .attention = rate("attention_dropout", 0),
                      .layer = std::min(rate("encoder_layerdrop", 0), rate("decoder_layerdrop", 0))};
    if (settings_.size("decoder_input_dim", config.d_model) != config.d_model)
      settings_.refuse("decoder_input_dim", "projected embeddings are not of models here");
    const std::int64_t output = settings_.size("decoder_output_dim", config.d_model);
    config.output_width = output == config.d_model ? 0 : output;
    read_alignment();
    shape_.sequences.maximum_source_length =
        static_cast<std::int32_t>(settings_.integer("max_source_positions", 1024, 2, 65536));
    shape_.sequences.maximum_target_length =
        static_cast<std::int32_t>(settings_.integer("max_target_positions", 1024, 2, 65536));
  }

  void read_activation() {
    const std::string name = settings_.text("activation_fn", "relu");
    if (name != "relu" && name != "gelu")
      settings_.refuse("activation_fn",
                       fmt::format("is {}; there are relu and gelu (with the error function)", core::quote(name)));
    shape_.config.activation = {name == "relu" ? ops::Activation::kRelu : ops::Activation::kGelu, false};
  }

  /// Reads the alignment settings of transformer_align models.
  void read_alignment() {
    const int layers = shape_.config.decoder_layers;
    const std::int64_t layer = settings_.integer("alignment_layer", layers - 1, -layers, layers - 1);
    shape_.config.alignment_layer = static_cast<int>(layer);
    shape_.config.alignment_heads =
        static_cast<int>(settings_.integer("alignment_heads", shape_.config.heads, 1, shape_.config.heads));
  }

  void read_tables() {
    const bool all = settings_.flag("share_all_embeddings", false);
    const bool output = all || settings_.flag("share_decoder_input_output_embed", false);
    shape_.config.tying = all ? Tying::kAll : output ? Tying::kTargetOutput : Tying::kNone;
    // A state dict has tied tensors under each of their names.
    if (all) require_copy("decoder.embed_tokens.weight", "encoder.embed_tokens.weight", "share_all_embeddings");
    // If the decoder's table is missing, it is the encoder's.
    if (output)
      require_copy("decoder.output_projection.weight",
                   all && !checkpoint_.weights->contains("decoder.embed_tokens.weight") ? "encoder.embed_tokens.weight"
                                                                                        : "decoder.embed_tokens.weight",
                   all ? "share_all_embeddings" : "share_decoder_input_output_embed");
  }

  void require_copy(const char* name, const char* original, const char* key) {
    const ForeignTensors& weights = *checkpoint_.weights;
    if (!weights.contains(name)) return;
    if (weights.contains(original) && !weights.equal(name, original))
      settings_.refuse(
          key, fmt::format("is set, but the tensors {} and {} differ", core::quote(name), core::quote(original)),
          ErrorCode::kBadInput);
    copies_.insert(name);
  }

  /// Returns whether an array is part of fairseq's bookkeeping and irrelevant to the computation.
  bool is_ignored(std::string_view name) const {
    return copies_.contains(name) || name.ends_with(".version") || name.ends_with("embed_positions._float_tensor") ||
           (name.ends_with("embed_positions.weights") && shape_.config.positions != nn::PositionKind::kLearned);
  }

  path dictionary_of(const std::string& option, const char* key) const {
    if (!option.empty()) return option;
    if (!dictionaries_[0].empty()) return dictionaries_[0];
    const std::string language = settings_.text(key, "");
    // A file name and never a path.
    const path named = folder_ / fmt::format("dict.{}.txt", path(language).filename().string());
    if (!language.empty() && is_file(named)) return named;
    const std::vector<path> found = dictionaries_of(folder_);
    core::require(found.size() == 1, ErrorCode::kBadInput,
                  "{}: there is no {}, the dictionary of the checkpoint's {}; bring it, or name it to the importer "
                  "(source_dictionary=FILE, target_dictionary=FILE)",
                  folder_.string(), named.filename().string(), key);
    return found.front();
  }

  void read_vocabularies() {
    source_.emplace(Vocabulary::read_fairseq(dictionary_of(dictionaries_[1], "source_lang")));
    target_.emplace(Vocabulary::read_fairseq(dictionary_of(dictionaries_[2], "target_lang")));
    require_rows("encoder.embed_tokens.weight", *source_);
    if (shape_.config.tying != Tying::kAll) require_rows("decoder.embed_tokens.weight", *target_);
    core::require(shape_.config.tying != Tying::kAll || source_->pieces() == target_->pieces(), ErrorCode::kBadInput,
                  "{}: share_all_embeddings: both sides have one table, but {} and {} are different dictionaries",
                  settings_.name(), source_->name(), target_->name());
    nn::SequenceSpec& sequences = shape_.sequences;
    sequences.begin = 0;
    sequences.end = 2;
    sequences.unknown = 3;
    sequences.decoder_start = sequences.end;
    sequences.source_vocabulary = source_->size();
    sequences.target_vocabulary = target_->size();
  }

  void require_rows(const char* table, const Vocabulary& vocabulary) const {
    const auto* shape = checkpoint_.weights->shape_of(table);
    core::require(shape != nullptr && shape->size() == 2, ErrorCode::kBadInput, "{}: {} {}",
                  checkpoint_.weights->file(), Quoted{table}, shape == nullptr ? "is missing" : "is no matrix");
    core::require(shape->front() == vocabulary.size(), ErrorCode::kBadInput,
                  "{}: {} has {} rows, but the dictionary {} has {} pieces with the four that fairseq puts in front; "
                  "is it another model's, or did the task add some?",
                  checkpoint_.weights->file(), Quoted{table}, shape->front(), vocabulary.name(), vocabulary.size());
  }

  static tokenizer::TokenizerSpec tokenizer(const path& file, const Vocabulary& vocabulary) {
    // The padding is the start, which fit_tokenizer() makes a control piece unless it is the beginning.
    const SpecialPieces special{.unknown = 3, .end = 2, .begin = 0, .start = 1};
    return file.empty() ? piece_tokenizer(vocabulary, special) : fit_tokenizer(file, vocabulary, special);
  }

  formats::ModelContents contents() const {
    // The search behaves like fairseq-generate, which never selects the padding and never returns an empty translation.
    formats::ModelContents contents{.config = {.model_type = "transformer",
                                               .plugin = {},
                                               .sequences = shape_.sequences,
                                               .model = transformer::to_json(shape_.config),
                                               .decoding = {{"beam_size", 5},
                                                            {"length_penalty", "fairseq"},
                                                            {"alpha", 1.0},
                                                            {"minimum_length", 1},
                                                            {"suppress_tokens", {{1}}}}}};
    if (source_->pieces() == target_->pieces() && tokenizers_.of_source() == tokenizers_.of_target()) {
      contents.tokenizers.joint = tokenizer(tokenizers_.of_target(), *target_);
    } else {
      contents.tokenizers.source = tokenizer(tokenizers_.of_source(), *source_);
      contents.tokenizers.target = tokenizer(tokenizers_.of_target(), *target_);
    }
    contents.card = fmt::format("Imported from the fairseq checkpoint {}.\n", file_.filename().string());
    return contents;
  }

  path from_;
  path folder_;
  path file_;
  std::string dictionaries_[3];  ///< of both sides, of the source, of the target
  TokenizerPaths tokenizers_;
  FairseqCheckpoint checkpoint_;
  ConfigReader settings_;
  TransformerShape shape_;
  std::set<std::string, std::less<>> copies_;
  std::optional<Vocabulary> source_;
  std::optional<Vocabulary> target_;
};

/// Recognises a torch file in a folder with dictionaries.
bool recognises_fairseq(const path& from) {
  std::error_code ignored;
  try {
    if (is_file(from)) {
      const path folder = from.has_parent_path() ? from.parent_path() : path(".");
      const std::string beginning = core::read_beginning(from, 16);
      return is_checkpoint_name(from) && looks_like_torch(std::as_bytes(std::span(beginning))) &&
             !dictionaries_of(folder).empty();
    }
    if (!std::filesystem::is_directory(from, ignored) || formats::is_model_folder(from)) return false;
    return !dictionaries_of(from).empty() && std::ranges::any_of(core::list_folder(from), [](const path& file) {
      return is_file(file) && is_checkpoint_name(file);
    });
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace

formats::ModelImporter fairseq_importer() {
  return {.name = "fairseq",
          .summary = "checkpoints of fairseq (.pt) with a Transformer, and their dictionaries (dict.de.txt)",
          .make = [](const path& from, core::OptionReader& own) { return FairseqModel(from, own).open(); },
          .recognises = recognises_fairseq,
          .write_example = write_fairseq_example,
          .why_not = why_no_fairseq};
}

}  // namespace dragoman::imports
