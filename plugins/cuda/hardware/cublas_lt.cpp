#include "cublas_lt.h"

#include "cublas_lt_problem.h"
#include "device_error.h"
#include "launch_timer.h"
#include "use_device.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace dragoman::backend::cuda {
namespace {

constexpr std::uint64_t kMaxWorkspace = std::uint64_t{32} << 20;
constexpr int kMaxCandidates = 8;
constexpr int kTimedRuns = 5;

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(GemmAlgorithm));

const char* name_of(GemmType type) {
  switch (type) {
    case GemmType::kBF16:
      return "cuBLASLt, bf16";
    case GemmType::kF16:
      return "cuBLASLt, fp16";
    case GemmType::kI8:
      return "cuBLASLt, int8";
    default:
      return "cuBLASLt, fp32";
  }
}

/// A point in the calling thread's stream.
class Event {
 public:
  Event() { require_success(cudaEventCreate(&event_), "making an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { ignore(cudaEventDestroy(event_)); }
  void record() { require_success(cudaEventRecord(event_, cudaStreamPerThread), "recording an event"); }
  double seconds_since(const Event& begin) const {
    require_success(cudaEventSynchronize(event_), "a product");
    float milliseconds = 0;
    require_success(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "timing a product");
    return milliseconds / 1000.0;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class Preference {
 public:
  Preference(const CublasLtApi& api, int alignment, bool split) : api_(api) {
    require_success(api.create_preference(&preference_), "describing preferences");
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMaxWorkspace);
    if (!split)
      set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE));
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(attribute, static_cast<std::uint32_t>(alignment));
  }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  ~Preference() { api_.destroy_preference(preference_); }
  cublasLtMatmulPreference_t get() const noexcept { return preference_; }

 private:
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    require_success(api_.set_of_preference(preference_, attribute, &value, sizeof value), "describing preferences");
  }

  const CublasLtApi& api_;
  cublasLtMatmulPreference_t preference_ = nullptr;
};

}  // namespace

CublasLt::CublasLt(const CublasLtApi& api, int device) : api_(api), device_(device) {
  device::use(device);
  require_success(cudaFree(nullptr), "opening the device");
  require_success(api.create(&handle_), "opening the library");
}

CublasLt::~CublasLt() {
  api_.destroy(handle_);
}

std::string CublasLt::identity() const {
  cudaDeviceProp properties{};
  require_success(cudaGetDeviceProperties(&properties, device_), "asking for a device");
  return fmt::format("cuBLASLt {}, {}, sm_{}{}, {} multiprocessors", api_.version(), properties.name, properties.major,
                     properties.minor, properties.multiProcessorCount);
}

std::vector<GemmAlgorithm> CublasLt::candidates(const GemmShape& shape, bool split) const {
  device::use(device_);
  const CublasLtProblem problem(api_, shape);
  const Preference preference(api_, shape.alignment, split);
  std::array<cublasLtMatmulHeuristicResult_t, kMaxCandidates> found{};
  int count = 0;
  // A shape that it cannot do is a failure to it.
  if (api_.heuristic(handle_, problem.operation(), problem.first(), problem.second(), problem.result(),
                     problem.result(), preference.get(), kMaxCandidates, found.data(), &count) != CUBLAS_STATUS_SUCCESS)
    return {};
  std::vector<GemmAlgorithm> algorithms;
  for (int i = 0; i < count; ++i) {
    const cublasLtMatmulHeuristicResult_t& one = found.at(static_cast<std::size_t>(i));
    if (one.state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(std::bit_cast<GemmAlgorithm>(one.algo));
  }
  return algorithms;
}

std::optional<std::size_t> CublasLt::workspace(const GemmShape& shape, const GemmAlgorithm& algorithm) const {
  device::use(device_);
  const CublasLtProblem problem(api_, shape);
  const auto algo = std::bit_cast<cublasLtMatmulAlgo_t>(algorithm);
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status = api_.check(handle_, problem.operation(), problem.first(), problem.second(),
                                           problem.result(), problem.result(), &algo, &result);
  if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kMaxWorkspace) return std::nullopt;
  return result.workspaceSize;
}

void CublasLt::run(const GemmShape& shape, const GemmOperands& operands, const GemmAlgorithm& algorithm,
                   void* workspace, std::size_t workspace_bytes) const {
  device::use(device_);
  CublasLtProblem problem(api_, shape);
  problem.set_addresses(operands.bias, operands.activation_input);
  const auto algo = std::bit_cast<cublasLtMatmulAlgo_t>(algorithm);
  const TimedLaunch timed(name_of(shape.type));
  require_success(api_.matmul(handle_, problem.operation(), problem.alpha(), operands.b, problem.first(), operands.a,
                              problem.second(), problem.beta(), operands.c, problem.result(), operands.c,
                              problem.result(), &algo, workspace, workspace_bytes, cudaStreamPerThread),
                  "a product");
}

double CublasLt::time(const GemmShape& shape, const GemmOperands& operands, const GemmAlgorithm& algorithm,
                      void* workspace, std::size_t workspace_bytes) const {
  run(shape, operands, algorithm, workspace, workspace_bytes);
  Event begin;
  Event end;
  begin.record();
  for (int i = 0; i < kTimedRuns; ++i) run(shape, operands, algorithm, workspace, workspace_bytes);
  end.record();
  return end.seconds_since(begin) / kTimedRuns;
}

bool CublasLt::recording() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  require_success(cudaStreamIsCapturing(cudaStreamPerThread, &status), "asking for a stream");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace dragoman::backend::cuda
