#pragma once

#include <dragoman/tensor/kernel_table.h>

namespace dragoman::backend::reference {

/// Fills the table of Device::kReference with naive kernels: plain loops in double precision on one thread, written
/// from the formulas in the op headers and nothing else. They are what every other backend is compared with, so they
/// are meant to be read, not to be fast.
///
/// They compute with F64 tensors only; another dtype is an Error{kUnsupported} naming op and dtype.
/// `residual_dropout_layer_norm` has no kernel here on purpose: the op then runs its composition, which is thereby
/// tested.
void install_kernels(tensor::KernelTable& table);

}  // namespace dragoman::backend::reference
