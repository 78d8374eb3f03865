#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/nn/layers.h>
#include <dragoman/nn/positions.h>

namespace dragoman::transformer {

/// Where LayerNorm stands: kPost is LayerNorm(x + Sublayer(x)) as in Vaswani et al. 2017; kPre is x +
/// Sublayer(LayerNorm(x)), which trains stably without a careful warm-up (Xiong et al. 2020).
enum class NormPlace : std::uint8_t { kPre, kPost };

/// Which matrices are one and the same parameter.
enum class Tying : std::uint8_t { kNone, kSourceTarget, kTargetOutput, kAll };

/// Whether the output matrix is the target's table.
inline bool ties_output(Tying tying) {
  return tying == Tying::kTargetOutput || tying == Tying::kAll;
}

/// How embeddings, learned positions and the output matrix start out; all other matrices are Glorot & Bengio's either
/// way. kDefault is N(0, 1/d_model), so that scaled embeddings have unit variance; kXavierUniform treats them as any
/// matrix [rows, columns]: U(-b, b) with b = sqrt(6 / (rows + columns)).
enum class TableInit : std::uint8_t { kDefault, kXavierUniform };

/// Drop probabilities, by place. None is applied outside of training.
struct Dropout {
  double embedding = 0.1;  ///< on the sum of embedding and position
  double sub_layer = 0.1;  ///< on each sub-layer's output, before the residual sum
  double activation = 0;   ///< within the feed-forward layer, after the activation
  double attention = 0;    ///< on the attention weights
  double layer = 0;        ///< of whole layers of both stacks: LayerDrop (Fan et al. 2020), without any rescaling
};

/// Where attention is scaled by 1/sqrt(d_head): kLate scales the products of queries and keys, as in Vaswani et al.
/// 2017, eq. 1; kEarly the queries, as fairseq and PyTorch. Equal but for rounding.
enum class QueryScalingPlace : std::uint8_t { kLate, kEarly };

/// Published Transformers differ in exactly these.
struct Config {
  std::int64_t d_model = 512;
  int heads = 8;
  std::int64_t feed_forward = 2048;
  int encoder_layers = 6;
  int decoder_layers = 6;
  /// For each layer the number, from 0, of the parameters that it has, as Marian's --transformer-tied-layers (there
  /// from 1, and of the decoder): [0, 0, 1, 1] are two sets, each of two layers that follow one another. So is said
  /// what Takase & Kiyono 2021 call sequence, cycle ([0, 1, 0, 1]) and reversed cycle ([0, 1, 1, 0]), and by
  /// [0, 0, 0, 0] what the Universal Transformer (Dehghani et al. 2019) and ALBERT do. A new number is the least that
  /// there was not yet. Empty: each layer has its own.
  std::vector<int> encoder_tied_layers;
  std::vector<int> decoder_tied_layers;
  NormPlace norm = NormPlace::kPre;
  /// A LayerNorm after each stack; by default present with kPre (whose residual sums are otherwise never normalised)
  /// and absent with kPost.
  bool final_norm = true;
  double layer_norm_epsilon = 1e-5;
  QueryScalingPlace query_scaling = QueryScalingPlace::kLate;
  nn::FeedForwardActivation activation;
  nn::PositionKind positions = nn::PositionKind::kInterleaved;
  /// The position number of the first token: fairseq counts from padding_idx + 1 = 2.
  std::int64_t position_offset = 0;
  double position_base = nn::kPositionBase;  ///< of all sinusoids
  bool embedding_scale = true;               ///< embeddings times sqrt(d_model)
  bool embedding_norm = false;               ///< a LayerNorm on the sum of embedding and position
  Tying tying = Tying::kAll;
  TableInit init = TableInit::kDefault;
  /// Width of the decoder's states where they meet the output matrix, to which a projection without bias brings them
  /// (fairseq's project_out_dim); 0: d_model, without one.
  std::int64_t output_width = 0;
  bool output_bias = false;
  Dropout dropout;
  /// The decoder layer (from 0; negative counts from the last) and how many of its first heads serve as word alignment.
  /// As in fairseq, the heads are a count.
  int alignment_layer = -1;
  int alignment_heads = 1;
};

/// Reads the `model` object of config.json or of a training configuration; every key is optional, an unknown one is an
/// error. `where` names the place for messages.
Config read_config(const core::Json& json, const std::string& where);
/// All keys with their values: what read_config() turns back into an equal Config.
core::Json to_json(const Config& config);

}  // namespace dragoman::transformer
