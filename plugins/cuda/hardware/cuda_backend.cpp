#include "cuda_backend.h"

#include "cublas_lt.h"
#include "device_error.h"
#include "gemm/gemm.h"
#include "launch_times.h"
#include "stream_capture.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <dragoman/backend_cuda/install.h>

namespace dragoman::backend::cuda {
namespace {

/// Tensor cores multiply bf16 from this compute capability on.
constexpr int kLeastMajor = 8;

cudaDeviceProp properties_of(int number) {
  cudaDeviceProp properties{};
  require_success(cudaGetDeviceProperties(&properties, number), "asking for a device");
  return properties;
}
std::string description_of(int number) {
  const cudaDeviceProp properties = properties_of(number);
  return fmt::format("{}, sm_{}{}", properties.name, properties.major, properties.minor);
}

}  // namespace

CudaBackend::CudaBackend() : Backend("cuda") {
  install_kernels(own_kernels());
  int count = 0;
  absence_ = cudaGetDeviceCount(&count);
  if (absence_ != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    count = 0;
  }
  // CUDA lists the fastest device first. Devices keep their numbers, so one that is too old ends the list.
  for (int number = 0; number < count && properties_of(number).major >= kLeastMajor; ++number)
    memories_.push_back(std::make_unique<DeviceMemory>(number));
  if (device_count() < count)
    left_out_ = fmt::format(
        "device {} is too old: {}, and the kernels are for sm_{}0 and later; CUDA_VISIBLE_DEVICES can hide it from "
        "those "
        "behind it",
        device_count(), description_of(device_count()), kLeastMajor);
  libraries_.resize(memories_.size());
}

CudaBackend::~CudaBackend() {
  for (int number = 0; number < device_count(); ++number) set_gemm(tensor::Device::of(name(), number), nullptr);
}

tensor::ComputeType CudaBackend::inference_type(tensor::ComputeChoice choice) const {
  return cuda::inference_type(choice);
}
tensor::ComputeType CudaBackend::training_type(tensor::ComputeChoice choice) const {
  return cuda::training_type(choice);
}

std::string CudaBackend::describe() const {
  if (memories_.empty()) {
    int driver = 0;
    ignore(cudaDriverGetVersion(&driver));
    if (driver == 0) return "no device: there is no driver; install NVIDIA's for this machine's GPU";
    return fmt::format("no device: {}", left_out_.empty() ? cudaGetErrorString(absence_) : left_out_.c_str());
  }
  std::string text;
  for (int number = 0; number < device_count(); ++number) text += (number == 0 ? "" : "; ") + description_of(number);
  return text;
}

std::vector<std::string> CudaBackend::details() const {
  int driver = 0;
  int runtime = 0;
  ignore(cudaDriverGetVersion(&driver));
  ignore(cudaRuntimeGetVersion(&runtime));
  const auto version = [](int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); };
  std::vector<std::string> lines{
      fmt::format("CUDA {}, {}", version(runtime), driver == 0 ? "no driver" : "driver for CUDA " + version(driver))};
  if (memories_.empty()) return lines;  // then it makes no difference, and is large
  const CublasLtLoad& cublas = load_cublas_lt();
  if (cublas.api != nullptr) lines.push_back(fmt::format("{} {}", cublas.found, cublas.api->version()));
  return lines;
}

std::vector<std::string> CudaBackend::missing() const {
  if (memories_.empty()) return {describe()};
  std::vector<std::string> lines;
  if (!left_out_.empty()) lines.push_back(left_out_);
  if (load_cublas_lt().api == nullptr && !options_.batch_invariant)
    lines.push_back(fmt::format("products are slower than they could be: {}", load_cublas_lt().found));
  const std::lock_guard lock(mutex_);
  for (const auto& library : libraries_)
    if (library != nullptr && !library->trouble().empty())
      lines.push_back(fmt::format("what is found out about products is not kept: {}", library->trouble()));
  return lines;
}

std::vector<tensor::KernelTime> CudaBackend::kernel_times() const {
  return launch_times::take();
}

void CudaBackend::configure(const tensor::DeviceOptions& options) {
  const std::lock_guard lock(mutex_);
  options_.batch_invariant = options_.batch_invariant || options.batch_invariant;
  options_.kernel_times = options_.kernel_times || options.kernel_times;
  if (options.kernel_times) launch_times::begin();
  if (!options.cache.empty()) options_.cache = options.cache;
  if (options.memory > 0)
    for (const auto& memory : memories_) memory->bound(options.memory);
  if (options_.batch_invariant)
    for (int number = 0; number < device_count(); ++number) set_gemm(tensor::Device::of(name(), number), nullptr);
}

void CudaBackend::open_library(tensor::Device device) const {
  const std::lock_guard lock(mutex_);
  auto& library = libraries_.at(static_cast<std::size_t>(device.number()));
  const CublasLtLoad& cublas = load_cublas_lt();
  if (library != nullptr || options_.batch_invariant || cublas.api == nullptr) return;
  library = std::make_unique<LibraryGemm>(std::make_unique<CublasLt>(*cublas.api, device.number()),
                                          memory(device.number()), options_.cache);
  set_gemm(device, library.get());
}

/// Two workers, so that one launches while the other's results are read. A quarter of the memory is for what they hold,
/// since it is moved to another place when it grows.
tensor::PreferredLoad CudaBackend::preferred_load(int number, tensor::ComputeType /*type*/) const {
  constexpr int kWorkers = 2;
  const std::lock_guard lock(mutex_);
  const std::uint64_t bytes = options_.memory > 0 ? options_.memory : properties_of(number).totalGlobalMem;
  return {.workers = kWorkers, .rows = 2048, .encoder_tokens = 8192, .state_bytes = bytes / 4 / kWorkers};
}

std::unique_ptr<tensor::StepRecorder> CudaBackend::make_recorder(tensor::Context& context) const {
  open_library(context.device());
  if (options_.kernel_times) return nullptr;  // a graph is one launch
  const int number = context.device().number();
  return std::make_unique<GraphRecorder>(
      make_stream_capture(number, memories_.at(static_cast<std::size_t>(number))->use()), nullptr,
      [this](const std::string& reason) { note_refusal(reason); });
}

void CudaBackend::note_refusal(const std::string& reason) const {
  const std::lock_guard lock(mutex_);
  if (std::exchange(noted_refusal_, true)) return;
  notices_.push_back(fmt::format(
      "a step could not be recorded as a graph and is launched kernel by kernel, which is slower: {}", reason));
}

std::vector<std::string> CudaBackend::take_notices() const {
  const std::lock_guard lock(mutex_);
  return std::exchange(notices_, {});
}

}  // namespace dragoman::backend::cuda
