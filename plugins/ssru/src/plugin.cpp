#include "kernels.h"
#include "recurrent_unit.h"

#include <dragoman/plugins/plugin.h>
#include <dragoman/transformer/transformer_variant.h>

#ifdef DRAGOMAN_WITH_CUDA
#include "cuda_kernels.h"
#endif

namespace {

using namespace dragoman;

void register_ssru(plugins::Registrar& registrar) {
  registrar.add_kernel("cpu", ssru::kScan, ssru::cpu_scan);
  registrar.add_kernel("cpu", ssru::kScanBackward, ssru::cpu_scan_backward);
  registrar.add_kernel("reference", ssru::kScan, ssru::reference_scan);
  registrar.add_kernel("reference", ssru::kScanBackward, ssru::reference_scan_backward);
#ifdef DRAGOMAN_WITH_CUDA
  ssru::register_cuda_kernels(registrar);
#endif
  registrar.add(plugins::ModelEntry{
      .name = "ssru",
      .summary = "Transformer with a recurrent decoder (SSRU, Kim et al. 2019): constant memory per hypothesis",
      .make = transformer::TransformerVariant<ssru::RecurrentUnit>::make,
      .example = {{"d_model", 8},
                  {"heads", 2},
                  {"feed_forward", 12},
                  {"encoder_layers", 2},
                  {"decoder_layers", 2},
                  {"output_bias", true},
                  {"dropout", 0}}});
}

}  // namespace

DRAGOMAN_PLUGIN("ssru", "Apache-2.0", register_ssru)
