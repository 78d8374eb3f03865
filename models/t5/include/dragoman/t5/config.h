#pragma once

#include <cstdint>
#include <string>

#include <dragoman/core/json_fwd.h>
#include <dragoman/nn/layers.h>

namespace dragoman::t5 {

/// The configuration options in which T5 (Raffel et al. 2020) and its successors differ: T5 1.1, mT5 (Xue et al. 2021),
/// umT5 (Chung et al. 2023), MADLAD-400 (Kudugunta et al. 2023).
struct Config {
  std::int64_t d_model = 512;
  int heads = 8;
  std::int64_t head_width = 64;  ///< d_kv; heads * head_width need not be d_model
  std::int64_t feed_forward = 1024;
  int encoder_layers = 8;
  int decoder_layers = 8;
  nn::FeedForwardActivation activation{.activation = ops::Activation::kGeluTanh, .gated = true};
  /// The number of biases per head of self-attention: one for each bucket of distances.
  std::int64_t relative_buckets = 32;
  std::int64_t relative_distance = 128;      ///< distances from here on share one bucket
  bool relative_bias_of_each_layer = false;  ///< as in umT5; otherwise all layers of a stack share one
  double layer_norm_epsilon = 1e-6;
  bool tied_output = false;    ///< the output matrix is the embedding table
  bool scaled_output = false;  ///< states are multiplied by d_model^-0.5 before the output matrix; unset: tied_output
  double dropout = 0.1;        ///< at every place where T5 has dropout
  /// The decoder layer whose attention serves as word alignment (counted from 0; negative values count from the last),
  /// and the number of its heads that take part, counted from the first.
  int alignment_layer = -1;
  int alignment_heads = 1;
};

/// Reads the `model` object of config.json or of a training configuration. Every key is optional; an unknown key is an
/// error. `where` names the place in messages.
Config read_config(const core::Json& json, const std::string& where);
/// Returns all keys with their values. read_config() reads them back into an equal Config.
core::Json to_json(const Config& config);

}  // namespace dragoman::t5
