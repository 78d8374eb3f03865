#pragma once

#include "blocks.h"

#include <dragoman/core/function_ref.h>
#include <dragoman/ops/matmul.h>

namespace dragoman::backend::cpu {

using tensor::Context;

/// The kernel of ops::kMatMul. Calls finish(tile) for each part of c as soon as it is complete, on the thread that
/// computed it.
void multiply(Context& context, const ops::MatMulArguments& arguments,
              core::FunctionRef<void(const Tile& tile)> finish);

}  // namespace dragoman::backend::cpu
