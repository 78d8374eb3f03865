#include "cuda_kernels.h"

#include <dragoman/plugins/plugin.h>

// The kernels of the plugin `ssru` once more, for the emulated device that keeps steps.
namespace {

void register_captured(dragoman::plugins::Registrar& registrar) {
  dragoman::ssru::register_cuda_kernels(registrar, "captured");
}

}  // namespace

DRAGOMAN_PLUGIN("ssru-captured", "Apache-2.0", register_captured)
