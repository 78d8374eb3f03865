#pragma once

#include <dragoman/tensor/kernel_table.h>

namespace dragoman::backend::reference {

/// Fills the table of Device::kReference with naive kernels: plain loops in double precision on one thread, written
/// from the formulas in the op headers alone. All other backends are compared with them, so they are written for
/// readability and not for speed.
///
/// They accept F64 tensors only. Another dtype is an Error{kUnsupported} that names op and dtype.
/// `residual_dropout_layer_norm` intentionally has no kernel here, so that tests cover the op's composite.
void install_kernels(tensor::KernelTable& table);

}  // namespace dragoman::backend::reference
