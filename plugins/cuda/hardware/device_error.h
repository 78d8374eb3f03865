#pragma once

#include <cuda_runtime_api.h>

namespace dragoman::backend::cuda {

/// std::bad_alloc where the device has no memory left, Error{kInternal} with CUDA's own words for any other failure.
/// `what` was attempted.
void require_success(cudaError_t status, const char* what);

}  // namespace dragoman::backend::cuda
