#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/nn/layers.h>
#include <dragoman/nn/positions.h>

namespace dragoman::transformer {

/// The position of LayerNorm. kPost is LayerNorm(x + Sublayer(x)), as in Vaswani et al. 2017. kPre is x +
/// Sublayer(LayerNorm(x)), which trains stably without a careful warm-up (Xiong et al. 2020).
enum class NormPlace : std::uint8_t { kPre, kPost };

/// The matrices that share one parameter.
enum class Tying : std::uint8_t { kNone, kSourceTarget, kTargetOutput, kAll };

/// Returns true if the output matrix is the target's embedding table.
inline bool ties_output(Tying tying) {
  return tying == Tying::kTargetOutput || tying == Tying::kAll;
}

/// The initialisation of embeddings, learned positions and the output matrix. All other matrices use Glorot & Bengio's.
/// kDefault is N(0, 1/d_model), so that scaled embeddings have unit variance. kXavierUniform treats the tables like any
/// matrix [rows, columns]: U(-b, b) with b = sqrt(6 / (rows + columns)).
enum class TableInit : std::uint8_t { kDefault, kXavierUniform };

/// Dropout probabilities, by place. They apply in training only.
struct Dropout {
  double embedding = 0.1;  ///< on the sum of embedding and position
  double sub_layer = 0.1;  ///< on each sub-layer's output, before the residual sum
  double activation = 0;   ///< within the feed-forward layer, after the activation
  double attention = 0;    ///< on the attention weights
  double layer = 0;        ///< of whole layers in both stacks: LayerDrop (Fan et al. 2020), without rescaling
};

/// The place where attention is scaled by 1/sqrt(d_head). kLate scales the products of queries and keys, as in Vaswani
/// et al. 2017, eq. 1. kEarly scales the queries, as in fairseq and PyTorch. They are equal up to rounding.
enum class QueryScalingPlace : std::uint8_t { kLate, kEarly };

/// The configuration options in which published Transformers differ. A plain value.
///
///     const core::Json json{{"d_model", 256}, {"heads", 4}};
///     const Config config = read_config(json, "train.yml: model");
struct Config {
  std::int64_t d_model = 512;
  int heads = 8;
  std::int64_t feed_forward = 2048;
  int encoder_layers = 6;
  int decoder_layers = 6;
  /// The parameter set of each layer, numbered from 0, like Marian's --transformer-tied-layers (which counts from 1 and
  /// applies to the decoder only). [0, 0, 1, 1] shares each of two sets between two consecutive layers. In the terms of
  /// Takase & Kiyono 2021 this is "sequence"; [0, 1, 0, 1] is "cycle" and [0, 1, 1, 0] "reversed cycle". [0, 0, 0, 0]
  /// is the sharing of the Universal Transformer (Dehghani et al. 2019) and ALBERT. A new number must be the smallest
  /// one not yet used. Empty: each layer has its own parameters.
  std::vector<int> encoder_tied_layers;
  std::vector<int> decoder_tied_layers;
  NormPlace norm = NormPlace::kPre;
  /// True: a LayerNorm after each stack. The default is true for kPre, whose residual sums would otherwise never be
  /// normalised, and false for kPost.
  bool final_norm = true;
  double layer_norm_epsilon = 1e-5;
  QueryScalingPlace query_scaling = QueryScalingPlace::kLate;
  nn::FeedForwardActivation activation;
  nn::PositionKind positions = nn::PositionKind::kInterleaved;
  /// The position number of the first token. fairseq counts from padding_idx + 1 = 2.
  std::int64_t position_offset = 0;
  double position_base = nn::kPositionBase;  ///< base of sinusoidal positions
  bool embedding_scale = true;               ///< multiply embeddings by sqrt(d_model)
  bool embedding_norm = false;               ///< a LayerNorm on the sum of embedding and position
  Tying tying = Tying::kAll;
  TableInit init = TableInit::kDefault;
  /// The width of decoder states at the output matrix. A projection without bias maps them to it (fairseq's
  /// project_out_dim). 0: d_model, without a projection.
  std::int64_t output_width = 0;
  bool output_bias = false;
  Dropout dropout;
  /// The decoder layer whose attention serves as word alignment (counted from 0; negative values count from the last),
  /// and the number of its heads that take part, counted from the first. As in fairseq, the heads are a count.
  int alignment_layer = -1;
  int alignment_heads = 1;
};

/// Reads the `model` object of config.json or of a training configuration. Every key is optional; an unknown key is an
/// error. `where` names the place in messages.
Config read_config(const core::Json& json, const std::string& where);
/// Returns all keys with their values. read_config() reads them back into an equal Config.
core::Json to_json(const Config& config);

}  // namespace dragoman::transformer
