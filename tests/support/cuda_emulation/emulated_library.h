#pragma once

#include "emulated_backend.h"

#include <memory>

namespace dragoman::testing {

/// A library of matrix products that has the backend's own kernels, for floats and for 16-bit values. It verifies what
/// cuBLASLt takes for granted. A workspace
///
///  - is aligned, and has the bytes that workspace() returned;
///  - is memory that is allocated when the product runs;
///  - is used by no product of another thread before this one has run;
///  - has undefined contents before and after.
std::unique_ptr<backend::cuda::GemmLibrary> make_kernel_library(EmulatedMemory& memory);

}  // namespace dragoman::testing
