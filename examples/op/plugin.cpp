#include "leaky_relu.h"

#include <dragoman/plugins/plugin.h>

namespace {

void register_leaky_relu(dragoman::plugins::Registrar& registrar) {
  using namespace example;
  registrar.add_kernel("cpu", kLeakyRelu, cpu_leaky_relu);
  registrar.add_kernel("cpu", kLeakyReluBackward, cpu_leaky_relu_backward);
  registrar.add_kernel("reference", kLeakyRelu, reference_leaky_relu);
  registrar.add_kernel("reference", kLeakyReluBackward, reference_leaky_relu_backward);
#ifdef WITH_CUDA
  // They wait until the plugin `cuda` is loaded, if it is.
  registrar.add_kernel("cuda", kLeakyRelu, cuda_leaky_relu);
  registrar.add_kernel("cuda", kLeakyReluBackward, cuda_leaky_relu_backward);
#endif
}

}  // namespace

DRAGOMAN_PLUGIN("leaky-relu", "Apache-2.0", register_leaky_relu)
