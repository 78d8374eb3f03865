#pragma once

#include <cuda_runtime_api.h>

namespace dragoman::backend::cuda {

/// std::bad_alloc where the device has no memory left, Error{kInternal} with CUDA's own words for any other failure.
/// `what` was attempted.
void require_success(cudaError_t status, const char* what);

/// For a call whose failure changes nothing, or belongs to an earlier kernel. CUDA keeps the last failure of a thread
/// until somebody asks for it. The next launch asks, and would report the failure as its own.
inline void ignore(cudaError_t status) noexcept {
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
}

}  // namespace dragoman::backend::cuda
