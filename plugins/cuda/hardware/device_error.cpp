#include "device_error.h"

#include <new>

#include <dragoman/core/error.h>

namespace dragoman::backend::cuda {

void require_success(cudaError_t status, const char* what) {
  ignore(status);  // the caller hears of it now; the next launch must not find it
  if (status == cudaErrorMemoryAllocation) throw std::bad_alloc();
  core::require(status == cudaSuccess, core::ErrorCode::kInternal, "CUDA: {} failed: {} ({})", what,
                cudaGetErrorString(status), cudaGetErrorName(status));
}

}  // namespace dragoman::backend::cuda
