#include "marian/importer.h"

#include "marian/example.h"
#include "marian/files.h"
#include "marian/model_file.h"
#include "marian/names.h"
#include "tokens/fit_tokenizer.h"
#include "tokens/special_ids.h"
#include "tokens/vocabulary.h"
#include "weights/planned_model.h"
#include "weights/transformer_names.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/yaml.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/tokenizer/sentencepiece_ids.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Quoted;
using std::filesystem::path;
using transformer::NormPlace;
using transformer::Tying;

constexpr const char* kEnd = "</s>";
constexpr const char* kUnknown = "<unk>";
/// The longest source of models with computed positions; marian-decoder's --max-length is 1000.
constexpr std::int32_t kLongest = 1024;

/// The part of a model file's configuration that describes the model. The rest is about training.
class Configuration {
 public:
  Configuration(const std::string& yaml, const std::string& file)
      : where_(fmt::format("{}: {}", file, MarianFile::kConfiguration)),
        tree_(core::parse_yaml(yaml, where_)),
        reader_(tree_, where_) {}

  template <class... Args>
  [[noreturn]] void refuse(std::string_view key, fmt::format_string<Args...> format, Args&&... args) const {
    core::fail(ErrorCode::kUnsupported, "{}: {}: {}", where_, key, fmt::format(format, std::forward<Args>(args)...));
  }

  std::string text(const std::string& key, const char* fallback) {
    const core::Json& value = reader_.subtree(key);
    if (value.is_null()) return fallback;
    return value.is_string() ? value.get<std::string>() : value.dump();
  }
  bool flag(const std::string& key, bool fallback = false) { return reader_.get(key, fallback); }
  int number(const std::string& key, int fallback, int least, int most) {
    const int value = reader_.get(key, fallback);
    reader_.check(value >= least && value <= most, key, fmt::format("must lie in {} .. {}", least, most));
    return value;
  }
  int number(const std::string& key, int least, int most) {
    reader_.check(reader_.has(key), key, "is missing");
    return number(key, 0, least, most);
  }
  std::vector<int> numbers(const std::string& key) {
    const core::Json& list = reader_.subtree(key);
    std::vector<int> numbers;
    if (list.is_null()) return numbers;
    reader_.check(list.is_array() && list.size() <= 1024, key, "must be a list of numbers");
    for (const core::Json& number : list) {
      reader_.check(number.is_number_integer() && number >= 0 && number < 1 << 24, key, "must be a list of numbers");
      numbers.push_back(number.get<int>());
    }
    return numbers;
  }
  void check(bool holds, std::string_view key, std::string_view message) const { reader_.check(holds, key, message); }

  /// Throws if a feature that Dragoman lacks is enabled.
  void require_absent(const std::string& key, const char* what) {
    const core::Json& value = reader_.subtree(key);
    const bool set = (value.is_boolean() && value.get<bool>()) || (value.is_number() && value != 0) ||
                     (value.is_string() && !value.get_ref<const std::string&>().empty() && value != "none");
    if (set) refuse(key, "{} are not of models here", what);
  }

 private:
  std::string where_;
  core::Json tree_;
  core::OptionReader reader_;
};

/// Returns the operations without dropout, which applies only to training.
std::string operations(Configuration& configuration, const std::string& key, const char* fallback) {
  std::string text = configuration.text(key, fallback);
  std::erase(text, 'd');
  return text;
}

class Model {
 public:
  Model(const path& from, core::OptionReader& own)
      : from_(from),
        files_(find_marian_files(from, own)),
        tokenizers_{own.get("tokenizer", ""), own.get("source_tokenizer", ""), own.get("target_tokenizer", "")},
        file_(MarianFile::open(files_.model)) {}

  std::unique_ptr<formats::OpenedModel> open() && {
    Configuration configuration(file_->configuration(), file_->file());
    read_shape(configuration);
    read_tables(configuration);
    read_vocabularies();
    const MarianNames names(names_);
    WeightPlan plan = plan_transformer(shape_, names);
    swap_rows(plan, aligned_);
    check_plan(plan, *file_, [](std::string_view) { return false; });
    formats::ModelContents known = contents();
    return std::make_unique<PlannedModel>(from_, std::move(known), std::move(file_), std::move(plan));
  }

 private:
  void read_shape(Configuration& c) {
    constexpr int kWidest = 1 << 16;
    const std::string type = c.text("type", "");
    if (type != "transformer") c.refuse("type", "is {}; Transformers can be imported", Quoted{type});
    c.require_absent("transformer-no-projection", "attention without an output projection");
    c.require_absent("transformer-pool", "decoders without attention to the source");
    c.require_absent("right-left", "translations from the right");
    c.require_absent("ulr", "universal language representations");
    c.require_absent("lemma-dim-emb", "factored vocabularies");
    transformer::Config& config = shape_.config;
    config.d_model = c.number("dim-emb", 2, kWidest);
    config.heads = c.number("transformer-heads", 1, kWidest);
    c.check(config.d_model % 2 == 0 && config.d_model % config.heads == 0, "dim-emb",
            "must be even, and a multiple of transformer-heads");
    config.feed_forward = c.number("transformer-dim-ffn", 1, 4 * kWidest);
    if (const int of_decoder = c.number("transformer-decoder-dim-ffn", 0, 0, 4 * kWidest);
        of_decoder != 0 && of_decoder != config.feed_forward)
      c.refuse("transformer-decoder-dim-ffn", "is {}, not the encoder's {}; models here have one width", of_decoder,
               config.feed_forward);
    const int depth = c.number("transformer-ffn-depth", 2, 0, 100);
    const int depth_of_decoder = c.number("transformer-decoder-ffn-depth", 0, 0, 100);
    if (depth != 2 || (depth_of_decoder != 0 && depth_of_decoder != 2))
      c.refuse("transformer-ffn-depth", "is {} and {}; feed-forward layers here are of two matrices", depth,
               depth_of_decoder);
    config.encoder_layers = c.number("enc-depth", 1, 1024);
    config.decoder_layers = c.number("dec-depth", 1, 1024);
    config.layer_norm_epsilon = 1e-6;
    config.dropout = {};
    read_activation(c);
    read_norms(c);
    read_decoder(c);
    read_positions(c);
  }

  void read_activation(Configuration& c) {
    const std::string name = c.text("transformer-ffn-activation", "swish");
    if (name == "relu")
      shape_.config.activation.activation = ops::Activation::kRelu;
    else if (name == "swish")
      shape_.config.activation.activation = ops::Activation::kSwish;
    else if (name == "gelu")
      c.refuse("transformer-ffn-activation", "is gelu, which in Marian is x * sigmoid(1.702 x) and none of those here");
    else
      c.refuse("transformer-ffn-activation", "is {}; relu and swish are known", Quoted{name});
  }

  void read_norms(Configuration& c) {
    const std::string pre = operations(c, "transformer-preprocess", "");
    const std::string post = operations(c, "transformer-postprocess", "dan");
    const std::string top = operations(c, "transformer-postprocess-top", "");
    const std::string embedding = operations(c, "transformer-postprocess-emb", "d");
    if (pre.empty() && post == "an")
      shape_.config.norm = NormPlace::kPost;
    else if (pre == "n" && post == "a")
      shape_.config.norm = NormPlace::kPre;
    else
      c.refuse("transformer-preprocess",
               "{} with transformer-postprocess {}; known are '' with 'dan', and 'n' with 'da'", Quoted{pre},
               Quoted{post});
    if (!top.empty() && top != "n") c.refuse("transformer-postprocess-top", "is {}, and not 'n'", Quoted{top});
    if (!embedding.empty() && embedding != "n")
      c.refuse("transformer-postprocess-emb", "is {}, and neither 'd' nor 'nd'", Quoted{embedding});
    shape_.config.final_norm = !top.empty();
    shape_.config.embedding_norm = !embedding.empty();
    names_.pre_norm = shape_.config.norm == NormPlace::kPre;
  }

  void read_decoder(Configuration& c) {
    const std::string kind = c.text("transformer-decoder-autoreg", "self-attention");
    if (kind == "rnn") {
      const std::string cell = c.text("dec-cell", "gru");
      if (cell != "ssru") c.refuse("dec-cell", "is {}; of recurrent decoders those with ssru are known", Quoted{cell});
      c.require_absent("transformer-rnn-projection", "projections behind recurrent units");
      c.require_absent("layer-normalization", "norms within recurrent units");
      shape_.recurrent = true;
    } else if (kind != "self-attention") {
      c.refuse("transformer-decoder-autoreg", "is {}; self-attention and rnn are known", Quoted{kind});
    }
    const std::vector<int> tied = c.numbers("transformer-tied-layers");
    if (!tied.empty()) {
      c.check(tied.size() == static_cast<std::size_t>(shape_.config.decoder_layers), "transformer-tied-layers",
              "must have a number for each layer of the decoder");
      for (const int number : tied) {
        const auto known = std::ranges::find(names_.decoder_numbers, number);
        shape_.config.decoder_tied_layers.push_back(static_cast<int>(known - names_.decoder_numbers.begin()));
        if (known == names_.decoder_numbers.end()) names_.decoder_numbers.push_back(number);
      }
    }
    const std::string layer = c.text("transformer-guided-alignment-layer", "last");
    if (layer != "last")
      shape_.config.alignment_layer =
          c.number("transformer-guided-alignment-layer", 1, 1, shape_.config.decoder_layers) - 1;
  }

  /// Transformers of Marian have no learned positions: they do not read transformer-train-position-embeddings.
  void read_positions(Configuration& c) {
    c.require_absent("transformer-disable-position-embeddings", "Transformers without positions");
    shape_.sequences.maximum_source_length = shape_.sequences.maximum_target_length = kLongest;
    shape_.config.positions = nn::PositionKind::kTensor2Tensor;
    shape_.config.embedding_scale = true;
  }

  void read_tables(Configuration& c) {
    const bool all = c.flag("tied-embeddings-all");
    const bool source = all || c.flag("tied-embeddings-src");
    const bool output = all || c.flag("tied-embeddings");
    shape_.config.tying = source   ? output ? Tying::kAll : Tying::kSourceTarget
                          : output ? Tying::kTargetOutput
                                   : Tying::kNone;
    names_.shares_tables = source;
    names_.output_is_turned = file_->shape_of("decoder_ff_logit_out_W") != nullptr;
    shape_.zero_start = shape_.adds_start = true;
    shape_.config.output_bias = true;
    const std::vector<int> sizes = c.numbers("dim-vocabs");
    c.check(sizes.empty() || sizes.size() == 2, "dim-vocabs", "must be of one source and one target");
  }

  std::int64_t rows_of(const std::string& table) const {
    const auto* shape = file_->shape_of(table);
    core::require(shape != nullptr && shape->size() == 2 && shape->front() > 0 && shape->front() < 1 << 24 &&
                      shape->back() == shape_.config.d_model,
                  ErrorCode::kBadInput, "{}: {} {}", file_->file(), Quoted{table},
                  shape == nullptr ? "is missing" : "is no table of embeddings");
    return shape->front();
  }

  static bool is_sentencepiece(const path& file) { return file.extension() == ".spm"; }

  static Vocabulary read_vocabulary(const path& file) {
    const std::string name = file.filename().string();
    if (name.ends_with(".fsv"))
      core::fail(ErrorCode::kUnsupported, "{}: factored vocabularies are not of models here", file.string());
    if (!is_sentencepiece(file))
      return name.ends_with(".txt") ? Vocabulary::read_lines(file) : Vocabulary::read_marian(file);
    const std::string content = core::read_regular_file(file, tokenizer::TokenizerFile::kLargest);
    std::vector<std::string> pieces;
    for (tokenizer::UnigramPiece& piece : tokenizer::sentencepiece_pieces(content, file.string()))
      pieces.push_back(std::move(piece.text));
    return {std::move(pieces), file.string()};
  }

  void read_vocabularies() {
    const bool joint = names_.shares_tables;
    source_.emplace(read_vocabulary(files_.source_vocabulary));
    target_.emplace(read_vocabulary(files_.target_vocabulary));
    source_->fill_up_to(rows_of(joint ? "Wemb" : "encoder_Wemb"), joint ? "Wemb" : "encoder_Wemb");
    target_->fill_up_to(rows_of(joint ? "Wemb" : "decoder_Wemb"), joint ? "Wemb" : "decoder_Wemb");
    core::require(!joint || source_->pieces() == target_->pieces(), ErrorCode::kBadInput,
                  "{}: both sides have one table of embeddings, but {} and {} are different vocabularies; give the one "
                  "that the model was trained with",
                  file_->file(), files_.source_vocabulary.string(), files_.target_vocabulary.string());
    for (const Vocabulary* side : {&*source_, &*target_})
      for (const auto& [piece, what] : {std::pair(kEnd, "end"), {kUnknown, "unknown piece"}}) side->id(piece, what);
    aligned_ = align_ids(*source_, *target_, {kUnknown, kEnd});
    core::require(aligned_.empty() || files_.shortlist.empty() || !decoding::Shortlist::is_binary(files_.shortlist),
                  ErrorCode::kUnsupported,
                  "{}: a binary shortlist has ids, and {} and {} give {} or {} different ids; bring the shortlist as "
                  "text",
                  files_.shortlist.string(), files_.source_vocabulary.string(), files_.target_vocabulary.string(),
                  kUnknown, kEnd);
    nn::SequenceSpec& sequences = shape_.sequences;
    sequences.end = target_->id(kEnd, "end");
    sequences.unknown = target_->id(kUnknown, "unknown piece");
    special_ = {.unknown = sequences.unknown, .end = sequences.end};
    // Marian's decoder starts from zeros.
    special_.start = target_->add("<pad>");
    if (joint) source_->add("<pad>");
    sequences.decoder_start = sequences.begin = *special_.start;
    sequences.source_vocabulary = source_->size();
    sequences.target_vocabulary = target_->size();
  }

  tokenizer::TokenizerSpec tokenizer(const path& file, const Vocabulary& vocabulary, bool with_start) const {
    SpecialPieces special = special_;
    if (!with_start) special.start.reset();
    return file.empty() ? piece_tokenizer(vocabulary, special) : fit_tokenizer(file, vocabulary, special);
  }

  /// Selects the model's tokenizers, or the files next to a vocabulary that is only a list.
  void choose_tokenizers() {
    if (!tokenizers_.empty()) return;
    if (is_sentencepiece(files_.source_vocabulary) && is_sentencepiece(files_.target_vocabulary))
      tokenizers_ = {.source = files_.source_vocabulary, .target = files_.target_vocabulary};
    else
      tokenizers_ = find_tokenizers(files_.model.parent_path());
  }

  formats::ModelContents contents() {
    choose_tokenizers();
    formats::ModelContents contents{.config = {.model_type = shape_.recurrent ? "ssru" : "transformer",
                                               .plugin = shape_.recurrent ? "ssru" : "",
                                               .sequences = shape_.sequences,
                                               .model = transformer::to_json(shape_.config),
                                               .decoding = files_.decoding}};
    const bool same_pieces = source_->pieces() == target_->pieces();
    if (same_pieces && tokenizers_.of_source() == tokenizers_.of_target()) {
      contents.tokenizers.joint = tokenizer(tokenizers_.of_target(), *target_, true);
    } else {
      contents.tokenizers.source = tokenizer(tokenizers_.of_source(), *source_, same_pieces);
      contents.tokenizers.target = tokenizer(tokenizers_.of_target(), *target_, true);
    }
    if (!files_.shortlist.empty()) {
      contents.shortlist = read_shortlist(same_pieces);
      contents.config.decoding[decoding::kShortlistKey] = decoding::kShortlistFile;
    }
    contents.card = fmt::format("Imported from the Marian model {}.\n", files_.model.filename().string());
    return contents;
  }

  std::string read_shortlist(bool shared) const {
    const auto id = [](const Vocabulary& vocabulary) {
      return [&vocabulary](std::string_view piece) { return vocabulary.find(piece); };
    };
    return decoding::Shortlist::read(files_.shortlist,
                                     {.source_size = source_->size(),
                                      .target_size = target_->size(),
                                      .end = shape_.sequences.end,
                                      .unknown = shape_.sequences.unknown,
                                      .shared = shared,
                                      .source_id = id(*source_),
                                      .target_id = id(*target_)},
                                     files_.shortlist_limits)
        .to_binary();
  }

  path from_;
  MarianFiles files_;
  TokenizerPaths tokenizers_;
  std::unique_ptr<MarianFile> file_;
  TransformerShape shape_;
  MarianNames::Options names_;
  std::optional<Vocabulary> source_;
  std::optional<Vocabulary> target_;
  SpecialPieces special_;
  AlignedIds aligned_;
};

}  // namespace

formats::ModelImporter marian_importer() {
  return {.name = "marian",
          .summary =
              "models of Marian and of browsers: .npz or .bin (float or intgemm), alone or with a configuration "
              "of marian-decoder",
          .make = [](const path& from, core::OptionReader& own) { return Model(from, own).open(); },
          .recognises = is_marian_model,
          .write_example = write_marian_example};
}

}  // namespace dragoman::imports
