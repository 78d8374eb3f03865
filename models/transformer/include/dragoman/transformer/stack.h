#pragma once

#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/transformer/config.h>

namespace dragoman::transformer {

/// Where layer `layer` of a stack has its parameters: `<stack>.layers.<n>`, where n is the layer's own number, or what
/// `tied` (Config::encoder_tied_layers, decoder_tied_layers) says; shared if a layer before it has the same. Layers are
/// made in order.
nn::Scope layer_scope(const nn::Scope& stack, const std::vector<int>& tied, int layer);

/// Whether this pass goes without the layer that comes next: in training, with probability Dropout::layer, drawn anew
/// for each layer and batch.
bool leaves_layer_out(tensor::Context& context, const Config& config);

}  // namespace dragoman::transformer
