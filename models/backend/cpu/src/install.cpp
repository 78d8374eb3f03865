#include "dragoman/backend_cpu/install.h"

#include "products/shortlist_outputs.h"

#include <dragoman/ops/kernels.h>

namespace dragoman::backend::cpu {

void install_kernels(tensor::KernelTable& table) {
  ops::for_each_key(ops::kKernels, [&](auto key) { table.set(key, kernel); });
  ops::for_each_key(ops::kFusedKernels, [&](auto key) { table.set(key, kernel); });
  ops::for_each_key(ops::kShortlistKernels, [&](auto key) { table.set(key, kernel); });
  ops::for_each_key(kStepKernels, [&](auto key) { table.set(key, kernel); });
}

}  // namespace dragoman::backend::cpu
