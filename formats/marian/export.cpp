#include "marian/export.h"

#include "marian/model_file.h"
#include "marian/names.h"
#include "marian/npz_writer.h"
#include "weights/exported_shape.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/log.h>

namespace dragoman::imports {
namespace {

using transformer::Config;
using transformer::NormPlace;
using transformer::Tying;

constexpr std::string_view kMarianFormat = "marian-npz";
constexpr const char* kModel = "model.npz";

class MarianExport {
 public:
  explicit MarianExport(const ExportedModel& exported) : exported_(exported), shape_(exported_shape(exported, true)) {
    const Config& config = shape_.config;
    require(shape_.zero_start,
            "its decoder begins with a token, and Marian's with zeros; train with model.decoder_start: zeros");
    require(config.output_bias, "its output has no bias; train with model.output_bias: true");
    require(!config.activation.gated && (config.activation.activation == ops::Activation::kRelu ||
                                         config.activation.activation == ops::Activation::kSwish),
            "its activation is neither relu nor swish");
    require(std::abs(config.layer_norm_epsilon - 1e-6) < 1e-9,
            fmt::format("its layer_norm_epsilon is {}, and Marian's 1e-6", config.layer_norm_epsilon));
    require(exported.config->languages.always.empty(), "it has tokens around every sentence");
    require(config.output_width == 0, "it has a projection in front of the output matrix");
    require(config.encoder_tied_layers.empty(), "layers of its encoder are tied");
    require(config.alignment_heads == 1, "more than one head is the alignment");
    check_positions();
    names_ = {.pre_norm = config.norm == NormPlace::kPre, .shares_tables = shape_.joint()};
    // The numbers of tied layers in Marian's order.
    const auto& tied = config.decoder_tied_layers;
    for (std::size_t i = 0; i < tied.size(); ++i)
      if (static_cast<std::size_t>(tied[i]) == names_.decoder_numbers.size())
        names_.decoder_numbers.push_back(static_cast<int>(i) + 1);
  }

  void write(const std::filesystem::path& folder) const {
    write_model(folder / kModel);
    write_lists(folder);
    copy_tokenizers(exported_, folder);
    warn_of_decoder();
  }

 private:
  void require(bool holds, std::string_view reason) const {
    if (!holds) refuse_export(exported_, kMarianFormat, reason);
  }

  /// In marian-dev (src/models/transformer.h), DecoderLayerSelfAttention keeps the inputs of earlier steps as they are,
  /// and LayerAttention normalises keys and values only if they are the input of the step.
  void warn_of_decoder() const {
    if (shape_.recurrent || shape_.config.norm != NormPlace::kPre) return;
    core::log(exported_.log, core::LogLevel::kWarning,
              fmt::format("{}: Marian 1.12 scores and trains this model as it is, but translates differently: in a "
                          "decoder with self-attention and norms in front (norm: pre), its search leaves out the norm "
                          "of earlier keys and values. Train with norm: post, or with the model type ssru",
                          exported_.path.string()));
  }

  void check_positions() const {
    const Config& config = shape_.config;
    require(config.positions == nn::PositionKind::kTensor2Tensor && config.position_offset == 0 &&
                config.position_base == nn::kPositionBase,
            "its positions are computed in another way (Marian's are sinusoidal-tensor2tensor, from 0)");
    require(config.embedding_scale, "its embeddings are not multiplied by the root of their width");
  }

  void write_model(const std::filesystem::path& file) const {
    NpzWriter writer(file);
    const MarianNames names(names_);
    const WeightPlan plan = plan_transformer(shape_, names);
    std::vector<float> values;
    for (const PlannedWeight& planned : plan) {
      for (std::size_t part = 0; part < planned.parts.size(); ++part) {
        const WeightPart& foreign = planned.parts[part];
        extract_part(planned, part, value_of(exported_, planned.parameter), values);
        const std::int64_t share = planned.share();
        const std::vector<std::int64_t> shape = planned.is_vector ? std::vector<std::int64_t>{1, share}
                                                : foreign.turned  ? std::vector<std::int64_t>{planned.cols, share}
                                                                  : std::vector<std::int64_t>{share, planned.cols};
        writer.add(foreign.name, shape, values);
      }
    }
    writer.add_text(std::string(MarianFile::kConfiguration), configuration());
    writer.finish();
  }

  std::string configuration() const {
    const Config& config = shape_.config;
    const bool pre = config.norm == NormPlace::kPre;
    const bool all = config.tying == Tying::kAll;
    const auto flag = [](bool value) { return value ? "true" : "false"; };
    std::string yaml =
        "bert-train-type-embeddings: true\nbert-type-vocab-size: 2\ndec-cell-base-depth: 2\n"
        "dec-cell-high-depth: 1\nenc-cell: gru\nenc-cell-depth: 1\nenc-type: bidirectional\n"
        "dim-rnn: 1024\nlayer-normalization: false\nlemma-dim-emb: 0\nright-left: false\nskip: false\n"
        "transformer-aan-activation: swish\ntransformer-aan-depth: 2\ntransformer-aan-nogate: false\n"
        "transformer-dim-aan: 2048\ntransformer-no-projection: false\nulr: false\nulr-dim-emb: 0\n"
        "transformer-ffn-depth: 2\ntype: transformer\nversion: v1.12.0\n";
    const auto put = [&](const char* key, const auto& value) { yaml += fmt::format("{}: {}\n", key, value); };
    put("dec-cell", shape_.recurrent ? "ssru" : "gru");
    put("dec-depth", config.decoder_layers);
    put("dim-emb", config.d_model);
    yaml += fmt::format("dim-vocabs:\n  - {}\n  - {}\n", shape_.source_pieces(), shape_.target_pieces());
    put("enc-depth", config.encoder_layers);
    put("output-omit-bias", "false");
    put("tied-embeddings", flag(all || config.tying == Tying::kTargetOutput));
    put("tied-embeddings-all", flag(all));
    put("tied-embeddings-src", flag(all || config.tying == Tying::kSourceTarget));
    put("transformer-decoder-autoreg", shape_.recurrent ? "rnn" : "self-attention");
    put("transformer-dim-ffn", config.feed_forward);
    put("transformer-ffn-activation", config.activation.activation == ops::Activation::kRelu ? "relu" : "swish");
    put("transformer-guided-alignment-layer", alignment_layer());
    put("transformer-heads", config.heads);
    put("transformer-postprocess", pre ? "da" : "dan");
    put("transformer-postprocess-emb", config.embedding_norm ? "nd" : "d");
    put("transformer-postprocess-top", config.final_norm ? "n" : "\"\"");
    put("transformer-preprocess", pre ? "n" : "\"\"");
    put("transformer-tied-layers", tied_layers());
    put("transformer-train-position-embeddings", "false");
    return yaml;
  }

  std::string alignment_layer() const {
    const int layer = shape_.config.alignment_layer;
    const int last = shape_.config.decoder_layers - 1;
    const int chosen = layer < 0 ? last + 1 + layer : layer;
    return chosen == last ? "last" : std::to_string(chosen + 1);
  }

  std::string tied_layers() const {
    std::string numbers;
    for (const int own : shape_.config.decoder_tied_layers)
      numbers += fmt::format("\n  - {}", names_.decoder_numbers[static_cast<std::size_t>(own)]);
    return numbers.empty() ? "[]" : numbers;
  }

  void write_lists(const std::filesystem::path& folder) const {
    const auto source = pieces_of(*exported_.source_tokenizer, shape_.source_pieces());
    const auto target = pieces_of(*exported_.target_tokenizer, shape_.target_pieces());
    require_pieces(source);
    require_pieces(target);
    const bool shared = source == target;
    const char* source_name = shared ? "vocab.yml" : "source.vocab.yml";
    const char* target_name = shared ? "vocab.yml" : "target.vocab.yml";
    core::write_file(folder / source_name, as_yaml(source));
    if (!shared) core::write_file(folder / target_name, as_yaml(target));
    core::write_file(folder / "decoder.yml",
                     fmt::format("models:\n  - {}\nvocabs:\n  - {}\n  - {}\nrelative-paths: true\n{}", kModel,
                                 source_name, target_name, search()));
  }

  /// Marian identifies its end and unknown piece by these names.
  void require_pieces(const std::vector<std::string>& pieces) const {
    const auto is = [&](std::int32_t id, const char* name) { return pieces.at(static_cast<std::size_t>(id)) == name; };
    require(is(shape_.sequences.end, "</s>") && is(shape_.sequences.unknown, "<unk>"),
            "its end and unknown pieces are not called </s> and <unk>");
  }

  static std::string as_yaml(const std::vector<std::string>& pieces) {
    std::string yaml;
    for (std::size_t id = 0; id < pieces.size(); ++id) yaml += fmt::format("{}: {}\n", core::one_line(pieces[id]), id);
    return yaml;
  }

  /// Returns the search settings of the folder. Other settings have marian-decoder's defaults.
  std::string search() const {
    const core::Json& decoding = exported_.config->decoding;
    std::string yaml;
    if (decoding.contains("beam_size")) yaml += fmt::format("beam-size: {}\n", decoding["beam_size"].dump());
    if (decoding.contains("length_penalty") && decoding["length_penalty"] == "marian" && decoding.contains("alpha"))
      yaml += fmt::format("normalize: {}\n", decoding["alpha"].dump());
    if (!decoding.contains("suppress_unknown") || decoding["suppress_unknown"] == false) yaml += "allow-unk: true\n";
    return yaml;
  }

  const ExportedModel& exported_;
  TransformerShape shape_;
  MarianNames::Options names_;
};

}  // namespace

void write_marian(const ExportedModel& exported, const std::filesystem::path& output) {
  MarianExport(exported).write(output);
}

}  // namespace dragoman::imports
