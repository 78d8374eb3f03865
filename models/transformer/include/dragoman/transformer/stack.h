#pragma once

#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/transformer/config.h>

namespace dragoman::transformer {

/// Returns the scope of layer `layer` of a stack: `<stack>.layers.<n>`. By default n is `layer`; if `tied` is not
/// empty, it is tied[layer] (Config::encoder_tied_layers, decoder_tied_layers). The scope is shared if an earlier layer
/// has the same n. Layers must be constructed in order.
nn::Scope layer_scope(const nn::Scope& stack, const std::vector<int>& tied, int layer);

/// Returns true if this pass drops the next layer: in training, with probability Dropout::layer, drawn independently
/// for each layer and batch.
bool leaves_layer_out(tensor::Context& context, const Config& config);

}  // namespace dragoman::transformer
