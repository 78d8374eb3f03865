#pragma once

#include "cublas_lt_api.h"
#include "gemm/gemm_library.h"

namespace dragoman::backend::cuda {

/// cuBLASLt on one device.
class CublasLt final : public GemmLibrary {
 public:
  /// Error{kInternal} if the library does not come up.
  CublasLt(const CublasLtApi& api, int device);
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;
  ~CublasLt() override;

  std::string identity() const override;
  std::vector<GemmAlgorithm> candidates(const GemmShape& shape, bool split) const override;
  std::optional<std::size_t> workspace(const GemmShape& shape, const GemmAlgorithm& algorithm) const override;
  void run(const GemmShape& shape, const GemmOperands& operands, const GemmAlgorithm& algorithm, void* workspace,
           std::size_t workspace_bytes) const override;
  double time(const GemmShape& shape, const GemmOperands& operands, const GemmAlgorithm& algorithm, void* workspace,
              std::size_t workspace_bytes) const override;
  bool recording() const override;

 private:
  const CublasLtApi& api_;
  int device_;
  cublasLtHandle_t handle_ = nullptr;
};

}  // namespace dragoman::backend::cuda
