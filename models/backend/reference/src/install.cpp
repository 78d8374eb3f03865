#include "dragoman/backend_reference/install.h"

#include "kernels.h"

#include <dragoman/ops/kernels.h>

namespace dragoman::backend::reference {

void install_kernels(tensor::KernelTable& table) {
  ops::for_each_key(ops::kKernels, [&](auto key) { table.set(key, kernel); });
  ops::for_each_key(ops::kShortlistKernels, [&](auto key) { table.set(key, kernel); });
}

}  // namespace dragoman::backend::reference
