#pragma once

#include <cstdint>
#include <string>

#include <dragoman/core/json_fwd.h>
#include <dragoman/nn/layers.h>

namespace dragoman::t5 {

/// T5 (Raffel et al. 2020) and what came of it: T5 1.1, mT5 (Xue et al. 2021), umT5 (Chung et al. 2023), MADLAD-400
/// (Kudugunta et al. 2023). They differ in exactly these.
struct Config {
  std::int64_t d_model = 512;
  int heads = 8;
  std::int64_t head_width = 64;  ///< d_kv; heads * head_width need not be d_model
  std::int64_t feed_forward = 1024;
  int encoder_layers = 8;
  int decoder_layers = 8;
  nn::FeedForwardActivation activation{.activation = ops::Activation::kGeluTanh, .gated = true};
  /// Biases that a head of self-attention has: one for each bucket of distances.
  std::int64_t relative_buckets = 32;
  std::int64_t relative_distance = 128;      ///< from here on all distances are in one bucket
  bool relative_bias_of_each_layer = false;  ///< as in umT5; else each stack has one for all of its layers
  double layer_norm_epsilon = 1e-6;
  bool tied_output = false;    ///< the output matrix is the table of embeddings
  bool scaled_output = false;  ///< states are multiplied by d_model^-0.5 before the output matrix; unset: tied_output
  double dropout = 0.1;        ///< wherever T5 has one
  /// The decoder layer (from 0; negative counts from the last) and how many of its first heads serve as word alignment.
  int alignment_layer = -1;
  int alignment_heads = 1;
};

/// Reads the `model` object of config.json or of a training configuration; every key is optional, an unknown one is an
/// error. `where` names the place for messages.
Config read_config(const core::Json& json, const std::string& where);
/// All keys with their values: what read_config() turns back into an equal Config.
core::Json to_json(const Config& config);

}  // namespace dragoman::t5
