#pragma once

#include "emulated_backend.h"

#include <memory>

namespace dragoman::testing {

/// Creates a library of matrix products that runs the backend's own kernels, for floats and for 16-bit values. It
/// checks the requirements of cuBLASLt. A workspace
///
///  - is aligned, and has the bytes that workspace() returned;
///  - is memory that is allocated when the product runs;
///  - is used by no product of another thread before this one has run;
///  - has undefined contents before and after.
///
/// A bias, and an activation input that is kept, are aligned to 16 bytes. Activation functions are computed after the
/// product, by a kernel of the tests.
std::unique_ptr<backend::cuda::GemmLibrary> make_kernel_library(EmulatedMemory& memory);

}  // namespace dragoman::testing
