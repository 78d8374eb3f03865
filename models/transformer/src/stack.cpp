#include "dragoman/transformer/stack.h"

#include <algorithm>

#include <dragoman/autograd/training_mode.h>

namespace dragoman::transformer {

nn::Scope layer_scope(const nn::Scope& stack, const std::vector<int>& tied, int layer) {
  if (tied.empty()) return stack / "layers" / layer;
  const auto own = tied.begin() + layer;
  const nn::Scope scope = stack / "layers" / *own;
  return std::find(tied.begin(), own, *own) == own ? scope : scope.shared();
}

bool leaves_layer_out(tensor::Context& context, const Config& config) {
  return autograd::is_training(context) && config.dropout.layer > 0 &&
         autograd::next_uniform(context) < config.dropout.layer;
}

}  // namespace dragoman::transformer
