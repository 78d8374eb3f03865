#include "ctranslate2/importer.h"

#include "ctranslate2/example.h"
#include "ctranslate2/model_file.h"
#include "ctranslate2/names.h"
#include "tokens/fit_tokenizer.h"
#include "tokens/plain_file.h"
#include "tokens/special_ids.h"
#include "tokens/vocabulary.h"
#include "weights/planned_model.h"
#include "weights/sinusoids.h"
#include "weights/transformer_names.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Quoted;
using std::filesystem::path;
using transformer::Config;
using transformer::NormPlace;
using transformer::Tying;

constexpr const char* kModel = "model.bin";
constexpr const char* kConfig = "config.json";
/// The longest source of models with computed positions: CTranslate2 truncates sources at this length by default.
constexpr std::int32_t kLongest = 1024;

/// Features of CTranslate2's Transformers that Dragoman lacks, each with the name of its arrays.
struct Foreign {
  std::string_view name;  ///< the last part
  const char* what;
};
constexpr Foreign kForeign[] = {
    {"relative_position_keys", "relative positions (Shaw et al. 2018)"},
    {"relative_attention_bias", "relative position biases, as T5 has them"},
    {"relative_asymmetric_position_keys", "asymmetric relative positions"},
    {"rotary_dim", "rotary positions"},
    {"num_heads_kv", "grouped keys and values"},
    {"head_dim", "heads of a width of their own"},
    {"sliding_window", "a sliding window of attention"},
    {"queries_scale", "a scale of queries of its own"},
    {"memory_kv", "merged attention"},
    {"final_logit_softcapping", "capped logits"},
    {"scale_outputs", "scaled outputs"},
    {"layer_norm_use_residual", "RMS norms"},
    {"weight_zero", "weights of AWQ"},
    {"project_in", "projected embeddings"},
};

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('/') + 1);
}

/// The content of config.json. Older files have it in model.bin.
struct Tokens {
  std::string unknown = "<unk>";
  std::string begin = "<s>";
  std::string end = "</s>";
  std::optional<std::string> decoder_start = "<s>";
  bool source_begin = false;
  bool source_end = false;
};

class Folder {
 public:
  Folder(path folder, core::OptionReader& own)
      : folder_(std::move(folder)),
        file_(std::make_unique<Ctranslate2File>(folder_ / kModel)),
        start_option_(own.get("decoder_start", "")),
        tokenizers_{own.get("tokenizer", ""), own.get("source_tokenizer", ""), own.get("target_tokenizer", "")} {
    if (tokenizers_.empty()) tokenizers_ = find_tokenizers(folder_);
  }

  std::unique_ptr<formats::OpenedModel> open() && {
    require_transformer();
    read_config_file();
    read_shape();
    read_vocabularies();
    const Ctranslate2Names names(source_table_);
    WeightPlan plan = plan_transformer(shape_, names);
    swap_rows(plan, aligned_);
    check_plan(plan, *file_, [this](const std::string_view name) { return ignored_.contains(name); });
    return std::make_unique<PlannedModel>(folder_, contents(), std::move(file_), std::move(plan));
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    core::fail(ErrorCode::kUnsupported, "{}: {}", file_->file(), fmt::format(format, std::forward<Args>(args)...));
  }

  void require_transformer() const {
    const std::string& spec = file_->spec();
    // Files of version 1 do not name a kind.
    if (!spec.empty() && spec != "TransformerSpec" && spec != "TransformerBase" && spec != "TransformerBig")
      refuse("is of the kind {}; Transformers with an encoder and a decoder (TransformerSpec) can be imported",
             Quoted{spec});
    for (const std::string& name : file_->names())
      for (const Foreign& foreign : kForeign)
        if (last_part(name) == foreign.name || name.find("/" + std::string(foreign.name) + "/") != std::string::npos)
          refuse("has {} ({}), which models here have not", foreign.what, Quoted{name});
  }

  /// Returns a setting of a stack. Older files have one setting for both stacks.
  std::optional<double> setting(Side side, const std::string& name) {
    for (const std::string& key : {fmt::format("{}/{}", name_of(side), name), name})
      if (const auto value = file_->number(key)) {
        ignored_.emplace(file_->stored_name(key));
        return value;
      }
    return std::nullopt;
  }
  int whole_setting(Side side, const std::string& name, int fallback) {
    const double value = setting(side, name).value_or(fallback);
    core::require(std::abs(value) < 1e9 && value == std::floor(value), ErrorCode::kBadInput,
                  "{}: {}/{} is {}, which is no whole number", file_->file(), name_of(side), name, value);
    return static_cast<int>(value);
  }
  /// Returns a setting that must be equal on both sides.
  int common_setting(const std::string& name, int fallback) {
    const int encoder = whole_setting(Side::kEncoder, name, fallback);
    const int decoder = whole_setting(Side::kDecoder, name, fallback);
    if (encoder != decoder)
      refuse("{} is {} in the encoder and {} in the decoder; models here have one", name, encoder, decoder);
    return encoder;
  }

  std::string text_setting(const std::string& name, std::string fallback) {
    ignored_.insert(name);
    return file_->text(name).value_or(std::move(fallback));
  }
  bool flag_setting(const std::string& name, bool fallback) {
    ignored_.insert(name);
    return file_->number(name).value_or(fallback ? 1 : 0) != 0;
  }

  void read_config_file() {
    const path config_path = folder_ / kConfig;
    core::Json json = core::Json::object();
    if (std::filesystem::exists(config_path))
      json = core::load_json(config_path.string(), core::EqualKeys::kLastCounts);
    core::OptionReader config(json, config_path.string());
    if (file_->version() < 6) {
      tokens_.unknown = text_setting("unk_token", tokens_.unknown);
      tokens_.begin = text_setting("bos_token", tokens_.begin);
      tokens_.end = text_setting("eos_token", tokens_.end);
      tokens_.source_begin = flag_setting("with_source_bos", false);
      tokens_.source_end = flag_setting("with_source_eos", false);
      tokens_.decoder_start = flag_setting("with_target_bos", true) ? tokens_.begin : tokens_.end;
      if (flag_setting("user_decoder_start_tokens", false)) tokens_.decoder_start.reset();
    } else {
      tokens_.unknown = config.get("unk_token", tokens_.unknown);
      tokens_.begin = config.get("bos_token", tokens_.begin);
      tokens_.end = config.get("eos_token", tokens_.end);
      tokens_.source_begin = config.get("add_source_bos", false);
      tokens_.source_end = config.get("add_source_eos", false);
      if (config.subtree("decoder_start_token").is_null())
        tokens_.decoder_start.reset();
      else
        tokens_.decoder_start = config.require_key<std::string>("decoder_start_token");
    }
    if (!start_option_.empty()) tokens_.decoder_start = start_option_;
    if (!config.subtree("quantization_type").is_null())
      core::require(config.get("quantization_type", 0) == 0, ErrorCode::kUnsupported,
                    "{}: quantization_type: weights of AWQ are not read; convert the model without", config.where());
    if (!config.subtree("layer_norm_epsilon").is_null())
      shape_.config.layer_norm_epsilon = config.get("layer_norm_epsilon", shape_.config.layer_norm_epsilon);
    core::require(shape_.config.layer_norm_epsilon > 0 && shape_.config.layer_norm_epsilon < 1, ErrorCode::kBadInput,
                  "{}: layer_norm_epsilon: must lie between 0 and 1", config.where());
  }

  bool has(const std::string& name) const { return file_->shape_of(name) != nullptr; }

  std::int64_t dimension(const std::string& name, std::size_t which) const {
    const auto* shape = file_->shape_of(name);
    core::require(shape != nullptr && shape->size() == 2, ErrorCode::kBadInput, "{}: {} {}", file_->file(),
                  Quoted{name}, shape == nullptr ? "is missing" : "is no matrix");
    core::require((*shape)[which] > 0 && (*shape)[which] <= std::int64_t{1} << 24, ErrorCode::kBadInput,
                  "{}: {} is of the shape {}", file_->file(), Quoted{name}, formats::describe_shape(*shape));
    return (*shape)[which];
  }

  int count_layers(Side side) const {
    constexpr int kMax = 1024;
    int layers = 0;
    while (layers < kMax && has(fmt::format("{}/layer_{}/ffn/linear_0/weight", name_of(side), layers))) ++layers;
    core::require(layers > 0, ErrorCode::kBadInput, "{}: has no layers of the {}", file_->file(), name_of(side));
    return layers;
  }

  bool common(const char* name) const {
    const bool encoder = has(fmt::format("encoder/{}", name));
    if (encoder != has(fmt::format("decoder/{}", name)))
      refuse("only one side has {}; models here have it on both or on none", Quoted{name});
    return encoder;
  }

  void read_activation() {
    // The numbers of CTranslate2's enumeration.
    enum : int { kRelu, kGeluTanh, kSwish, kGelu, kGeluSigmoid, kTanh, kSigmoid };
    const int activation = common_setting("activation", kRelu);
    const bool gated = has("encoder/layer_0/ffn/linear_0_noact/weight");
    shape_.config.activation.gated = gated;
    switch (activation) {
      case kRelu:
        shape_.config.activation.activation = ops::Activation::kRelu;
        return;
      case kSwish:
        shape_.config.activation.activation = ops::Activation::kSwish;
        return;
      case kGelu:
        shape_.config.activation.activation = ops::Activation::kGelu;
        return;
      case kSigmoid:
        if (!gated) break;
        shape_.config.activation.activation = ops::Activation::kSigmoid;
        return;
      default:
        break;
    }
    refuse("has the activation number {}{}, which models here have not", activation, gated ? " (gated)" : "");
  }

  void read_scale() {
    const auto scale_of = [this](Side side) {
      std::optional<double> scale = setting(side, "scale_embeddings");
      for (const std::string& name : {fmt::format("{}/embeddings/multiply_by_sqrt_depth", name_of(side)),
                                      fmt::format("{}/embeddings_0/multiply_by_sqrt_depth", name_of(side))})
        if (has(name)) {
          ignored_.insert(name);
          if (!scale) scale = file_->number(name);
        }
      return scale.value_or(1);
    };
    const double root = std::sqrt(static_cast<double>(shape_.config.d_model));
    // The value is a flag or the factor itself.
    const auto is_root = [&](Side side) {
      const std::string name = fmt::format("{}/scale_embeddings", name_of(side));
      const double scale = scale_of(side);
      const bool is_flag = !has(name) || file_->type_of(name) == Ctranslate2File::Type::kInt8;
      if (is_flag) return scale != 0;
      if (std::abs(scale - root) <= 1e-3 * root) return true;
      if (scale != 1)
        refuse("multiplies embeddings by {}; models here multiply by the root of their width, or not", scale);
      return false;
    };
    shape_.config.embedding_scale = is_root(Side::kEncoder);
    if (is_root(Side::kDecoder) != shape_.config.embedding_scale)
      refuse("embeddings are multiplied by the root of their width on one side only");
  }

  void read_norms() {
    shape_.config.norm = common_setting("pre_norm", 1) != 0 ? NormPlace::kPre : NormPlace::kPost;
    for (const char* norm : {"layer_norm", "layernorm_embedding"})
      for (const Side side : {Side::kEncoder, Side::kDecoder})
        if (has(fmt::format("{}/{}/gamma", name_of(side), norm)) &&
            !has(fmt::format("{}/{}/beta", name_of(side), norm)))
          refuse("has RMS norms, which models here have not");
    shape_.config.final_norm = common("layer_norm/gamma");
    shape_.config.embedding_norm = common("layernorm_embedding/gamma");
  }

  void read_alignment() {
    const int layers = shape_.config.decoder_layers;
    const int layer = whole_setting(Side::kDecoder, "alignment_layer", -1);
    const int heads = whole_setting(Side::kDecoder, "alignment_heads", 1);
    core::require(layer >= -layers && layer < layers && heads >= 0 && heads <= shape_.config.heads,
                  ErrorCode::kBadInput, "{}: alignment_layer {} and alignment_heads {} are of no model of {} layers",
                  file_->file(), layer, heads, layers);
    shape_.config.alignment_layer = layer;
    shape_.config.alignment_heads = heads == 0 ? shape_.config.heads : heads;
  }

  /// Positions are computed if there is no table, or if the table contains the computed values.
  void read_positions() {
    std::optional<SinusoidKind> kinds[2];
    std::int64_t longest[2] = {kLongest, kLongest};
    for (const Side side : {Side::kEncoder, Side::kDecoder}) {
      const auto at = static_cast<std::size_t>(side);
      const std::string name = fmt::format("{}/position_encodings/encodings", name_of(side));
      // CTranslate2 counts computed positions from 1.
      kinds[at] = SinusoidKind{nn::PositionKind::kTensor2Tensor, 1};
      if (!has(name)) continue;
      ignored_.emplace(file_->stored_name(name));
      longest[at] = dimension(name, 0);
      core::require(dimension(name, 1) == shape_.config.d_model, ErrorCode::kBadInput,
                    "{}: {} is {} wide, the model {}", file_->file(), Quoted{name}, dimension(name, 1),
                    shape_.config.d_model);
      std::vector<float> table(static_cast<std::size_t>(longest[at] * shape_.config.d_model));
      file_->read(name, table);
      kinds[at] = recognise_sinusoids(table, shape_.config.d_model,
                                      file_->type_of(name) == Ctranslate2File::Type::kFloat32 ? 1e-5 : 5e-3);
    }
    for (const std::int64_t rows : longest)
      core::require(rows >= 2 && rows <= 65536, ErrorCode::kBadInput, "{}: has positions for {} tokens", file_->file(),
                    rows);
    shape_.sequences.maximum_source_length = static_cast<std::int32_t>(longest[0]);
    shape_.sequences.maximum_target_length = static_cast<std::int32_t>(longest[1]);
    if (kinds[0] && kinds[1] && *kinds[0] == *kinds[1]) {
      shape_.config.positions = kinds[0]->kind;
      shape_.config.position_offset = kinds[0]->offset;
      return;
    }
    if (!common("position_encodings/encodings"))
      refuse("positions are computed on one side and a table on the other; models here have one kind");
    shape_.config.positions = nn::PositionKind::kLearned;
  }

  void read_tables() {
    const bool source_is_target = file_->equal(source_table_, "decoder/embeddings/weight");
    const bool output_is_target = file_->equal("decoder/projection/weight", "decoder/embeddings/weight");
    shape_.config.tying = source_is_target   ? output_is_target ? Tying::kAll : Tying::kSourceTarget
                          : output_is_target ? Tying::kTargetOutput
                                             : Tying::kNone;
    // Copies are treated like aliases.
    if (source_is_target) ignored_.emplace(file_->stored_name("decoder/embeddings/weight"));
    if (output_is_target) ignored_.emplace(file_->stored_name("decoder/projection/weight"));
    if (has("decoder/project_out/weight")) shape_.config.output_width = dimension("decoder/project_out/weight", 0);
    shape_.zero_start = whole_setting(Side::kDecoder, "start_from_zero_embedding", 0) != 0;
    shape_.adds_start = shape_.zero_start;
    shape_.config.output_bias = shape_.zero_start || has("decoder/projection/bias");
  }

  void read_shape() {
    if (!has(source_table_) && has("encoder/embeddings/weight")) source_table_ = "encoder/embeddings/weight";
    if (has("encoder/embeddings_1/weight")) refuse("has source factors, which models here have not");
    Config& config = shape_.config;
    config.d_model = dimension(source_table_, 1);
    config.feed_forward = dimension("encoder/layer_0/ffn/linear_0/weight", 0);
    config.encoder_layers = count_layers(Side::kEncoder);
    config.decoder_layers = count_layers(Side::kDecoder);
    config.heads = common_setting("num_heads", file_->spec() == "TransformerBig" ? 16 : 8);
    core::require(config.heads > 0 && config.d_model % config.heads == 0, ErrorCode::kBadInput,
                  "{}: {} heads do not divide the width of {}", file_->file(), config.heads, config.d_model);
    core::require(config.d_model % 2 == 0 && config.d_model <= 65536, ErrorCode::kUnsupported,
                  "{}: the width of {} is odd or too large", file_->file(), config.d_model);
    config.query_scaling = transformer::QueryScalingPlace::kLate;
    config.dropout = {};
    common_setting("embeddings_merge", 0);
    for (const char* off : {"alibi", "multi_query_attention"})
      if (common_setting(off, 0) != 0) refuse("has {}, which models here have not", off);
    for (const char* name : {"alibi_use_positive_positions", "scale_alibi"}) common_setting_ignored(name);
    read_activation();
    read_scale();
    read_norms();
    read_alignment();
    read_tables();
    read_positions();
  }

  void common_setting_ignored(const std::string& name) {
    setting(Side::kEncoder, name);
    setting(Side::kDecoder, name);
  }

  Vocabulary read_vocabulary(const std::string& name) const {
    const path json = folder_ / (name + ".json");
    std::error_code ignored;
    if (std::filesystem::exists(json, ignored)) return Vocabulary::read_json_list(json);
    return Vocabulary::read_lines(folder_ / (name + ".txt"));
  }
  bool has_vocabulary(const std::string& name) const {
    std::error_code ignored;
    return std::filesystem::exists(folder_ / (name + ".json"), ignored) ||
           std::filesystem::exists(folder_ / (name + ".txt"), ignored);
  }

  void read_vocabularies() {
    const bool shared = has_vocabulary("shared_vocabulary");
    source_.emplace(read_vocabulary(shared ? "shared_vocabulary" : "source_vocabulary"));
    target_.emplace(read_vocabulary(shared ? "shared_vocabulary" : "target_vocabulary"));
    // CTranslate2 adds the unknown piece if it is missing.
    for (Vocabulary* side : {&*source_, &*target_})
      if (!side->find(tokens_.unknown)) side->add(tokens_.unknown);
    for (const std::string& table : {source_table_, std::string("decoder/embeddings/weight")})
      if (dimension(table, 1) != shape_.config.d_model)
        refuse("{} has the width {}, but the model {}", Quoted{table}, dimension(table, 1), shape_.config.d_model);
    source_->fill_up_to(dimension(source_table_, 0), source_table_);
    if (target_->size() < dimension("decoder/embeddings/weight", 0)) {
      shape_.unused_from = target_->size();
      shape_.config.output_bias = true;
    }
    target_->fill_up_to(dimension("decoder/embeddings/weight", 0), "decoder/embeddings/weight");
    align_special_tokens();
    nn::SequenceSpec& sequences = shape_.sequences;
    sequences.end = target_->id(tokens_.end, "end");
    sequences.unknown = target_->id(tokens_.unknown, "unknown piece");
    source_->id(tokens_.end, "end");
    if (shape_.zero_start) {
      core::require(start_option_.empty(), ErrorCode::kInvalidArgument,
                    "{}: decoder_start: translations begin with zeros (start_from_zero_embedding) and no token; leave "
                    "the option out",
                    folder_.string());
      const bool joint = shape_.config.tying == Tying::kAll || shape_.config.tying == Tying::kSourceTarget;
      special_.start = target_->add("<pad>");
      if (joint) source_->add("<pad>");
      sequences.decoder_start = *special_.start;
    } else {
      if (!tokens_.decoder_start)
        core::fail(ErrorCode::kInvalidArgument,
                   "{}: each translation begins with a token that the user gives (a language's, often); say which to "
                   "the importer: decoder_start=TOKEN",
                   folder_.string());
      sequences.decoder_start = target_->id(*tokens_.decoder_start, "first token of translations");
    }
    special_.begin = target_->find(tokens_.begin);
    special_.end = sequences.end;
    special_.unknown = sequences.unknown;
    sequences.begin = special_.begin.value_or(sequences.decoder_start);
    sequences.source_vocabulary = source_->size();
    sequences.target_vocabulary = target_->size();
  }

  /// Aligns the ids of special tokens, which each side of CTranslate2's models has separately. In Dragoman, both sides
  /// share them.
  void align_special_tokens() {
    aligned_ = align_ids(*source_, *target_, {tokens_.unknown, tokens_.end, tokens_.begin});
    if (aligned_.empty()) return;
    // After this, tied tables differ if their rows belong to other pieces.
    Tying& tying = shape_.config.tying;
    if (tying == Tying::kAll) tying = Tying::kTargetOutput;
    if (tying == Tying::kSourceTarget) tying = Tying::kNone;
  }

  /// Returns whether sources end in `end`. The users of most models add it to the tokens that they pass to CTranslate2;
  /// its absence is part of the model only if translations begin with "<s>", as in models of OpenNMT-py.
  bool ends_sources() const { return tokens_.source_end || shape_.zero_start || tokens_.decoder_start != "<s>"; }

  tokenizer::TokenizerSpec tokenizer(const path& file, const Vocabulary& vocabulary, bool with_start) const {
    SpecialPieces special = special_;
    special.begin = vocabulary.find(tokens_.begin);
    if (!with_start) special.start.reset();
    return file.empty() ? piece_tokenizer(vocabulary, special) : fit_tokenizer(file, vocabulary, special);
  }

  formats::ModelContents contents() const {
    formats::ModelContents contents{.config = {.model_type = "transformer",
                                               .plugin = {},
                                               .sequences = shape_.sequences,
                                               .model = transformer::to_json(shape_.config)}};
    const bool joint = source_->pieces() == target_->pieces() && tokenizers_.of_source() == tokenizers_.of_target();
    if (joint) {
      contents.tokenizers.joint = tokenizer(tokenizers_.of_target(), *target_, true);
    } else {
      contents.tokenizers.source = tokenizer(tokenizers_.of_source(), *source_, source_->pieces() == target_->pieces());
      contents.tokenizers.target = tokenizer(tokenizers_.of_target(), *target_, true);
    }
    if (tokens_.source_begin)
      contents.config.languages.always.source_prefix = {source_->id(tokens_.begin, "first token of sources")};
    contents.config.languages.always.source_end = ends_sources();
    contents.card = fmt::format("Imported from the CTranslate2 model {}.\n", folder_.filename().string());
    return contents;
  }

  path folder_;
  std::unique_ptr<Ctranslate2File> file_;
  std::string start_option_;
  TokenizerPaths tokenizers_;
  Tokens tokens_;
  TransformerShape shape_;
  std::string source_table_ = "encoder/embeddings_0/weight";
  std::set<std::string, std::less<>> ignored_;
  std::optional<Vocabulary> source_;
  std::optional<Vocabulary> target_;
  SpecialPieces special_;
  AlignedIds aligned_;
};

bool recognises(const path& folder) {
  if (!is_file(folder / kModel)) return false;
  for (const char* name : {"shared_vocabulary.json", "shared_vocabulary.txt", "target_vocabulary.json",
                           "target_vocabulary.txt", "vocabulary.json", "vocabulary.txt"})
    if (is_file(folder / name)) return true;
  return false;
}

}  // namespace

formats::ModelImporter ctranslate2_importer() {
  return {.name = "ctranslate2",
          .summary = "folders of CTranslate2 (model.bin of the versions 1 to 6) with an encoder-decoder Transformer",
          .make = [](const path& folder, core::OptionReader& own) { return Folder(folder, own).open(); },
          .recognises = recognises,
          .write_example = write_ctranslate2_example};
}

}  // namespace dragoman::imports
