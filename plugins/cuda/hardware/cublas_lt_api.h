#pragma once

#include <memory>
#include <string>

#include <cublasLt.h>

namespace dragoman::backend::cuda {

/// The functions of cuBLASLt that are used, of a library that was found when the program ran: nothing links it.
struct CublasLtApi {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoCheck) check = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_operation = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_operation = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_of_operation = nullptr;
  decltype(&cublasLtMatmulDescGetAttribute) get_of_operation = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatrixLayoutGetAttribute) get_of_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_of_preference = nullptr;
};

/// Where the library is looked for and what came of it. Opened once in a process, and never closed.
struct CublasLtLoad {
  std::unique_ptr<const CublasLtApi> api;  ///< nullptr: it is not here
  std::string found;                       ///< "libcublasLt.so.13", else why there is none and how to get it
};
const CublasLtLoad& load_cublas_lt();

/// Error{kInternal} that says what was attempted.
void require_success(cublasStatus_t status, const char* what);

}  // namespace dragoman::backend::cuda
