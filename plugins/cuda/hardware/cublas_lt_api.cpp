#include "cublas_lt_api.h"

#include <array>

#include <dlfcn.h>

#include <dragoman/core/error.h>

namespace dragoman::backend::cuda {
namespace {

/// Of the versions whose functions are those of the headers: by the loader's paths, then where NVIDIA's packages put
/// it.
constexpr std::array<const char*, 4> kNames{"libcublasLt.so.13", "libcublasLt.so.12",
                                            "/usr/local/cuda/lib64/libcublasLt.so.13",
                                            "/usr/local/cuda/lib64/libcublasLt.so.12"};

bool take_functions(void* library, CublasLtApi& api) {
  bool complete = true;
  const auto take = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  take(api.create, "cublasLtCreate");
  take(api.destroy, "cublasLtDestroy");
  take(api.version, "cublasLtGetVersion");
  take(api.matmul, "cublasLtMatmul");
  take(api.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  take(api.check, "cublasLtMatmulAlgoCheck");
  take(api.create_operation, "cublasLtMatmulDescCreate");
  take(api.destroy_operation, "cublasLtMatmulDescDestroy");
  take(api.set_of_operation, "cublasLtMatmulDescSetAttribute");
  take(api.get_of_operation, "cublasLtMatmulDescGetAttribute");
  take(api.create_layout, "cublasLtMatrixLayoutCreate");
  take(api.destroy_layout, "cublasLtMatrixLayoutDestroy");
  take(api.get_of_layout, "cublasLtMatrixLayoutGetAttribute");
  take(api.create_preference, "cublasLtMatmulPreferenceCreate");
  take(api.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  take(api.set_of_preference, "cublasLtMatmulPreferenceSetAttribute");
  return complete;
}

CublasLtLoad open_library() {
  CublasLtLoad load;
  for (const char* name : kNames) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    auto api = std::make_unique<CublasLtApi>();
    if (take_functions(library, *api)) {
      load.found = name;
      load.api = std::move(api);
      return load;
    }
    dlclose(library);
  }
  load.found =
      "libcublasLt.so.13 and .12 are not here: install NVIDIA's package libcublas, or name its folder in "
      "LD_LIBRARY_PATH";
  return load;
}

}  // namespace

const CublasLtLoad& load_cublas_lt() {
  // It lives to the end, as the library itself does: a static Host, which was made before it, uses it later.
  static const CublasLtLoad& load = *new CublasLtLoad(open_library());
  return load;
}

void require_success(cublasStatus_t status, const char* what) {
  core::require(status == CUBLAS_STATUS_SUCCESS, core::ErrorCode::kInternal, "cuBLASLt: {} failed with status {}", what,
                static_cast<int>(status));
}

}  // namespace dragoman::backend::cuda
