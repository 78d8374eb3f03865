#include "fake_cuda_runtime.h"

#include "captures.h"
#include "emulated_backend.h"
#include "launch.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace dragoman::testing::fake_cuda {
namespace {

namespace emulation = dragoman::testing::emulation;

/// Blocks of memory by address.
class Blocks {
 public:
  void add(void* data, std::size_t bytes) { all_[static_cast<char*>(data)] = bytes; }
  /// Returns 0 if there is no such block.
  std::size_t remove(void* data) {
    const auto found = all_.find(static_cast<char*>(data));
    if (found == all_.end()) return 0;
    const std::size_t bytes = found->second;
    all_.erase(found);
    return bytes;
  }
  bool contain(const void* data, std::size_t bytes) const {
    auto after = all_.upper_bound(const_cast<char*>(static_cast<const char*>(data)));
    if (after == all_.begin()) return false;
    const auto& [begin, size] = *--after;
    return static_cast<const char*>(data) + bytes <= begin + size;
  }
  int count() const { return static_cast<int>(all_.size()); }

 private:
  std::map<char*, std::size_t> all_;
};

struct Runtime {
  std::mutex mutex;
  std::vector<std::unique_ptr<EmulatedMemory>> devices;
  int device_count = 1;
  Blocks device_memory;
  Blocks pinned;
  std::string fault;
  std::string fault_text;  ///< the last result of cudaGetErrorString()
};
Runtime& runtime() {
  static Runtime& of_program = *new Runtime;  // static objects of the program may free memory later
  return of_program;
}

thread_local cudaError_t last_error = cudaSuccess;

struct PlannedFailures {
  std::mutex mutex;
  int left = 0;
  int happened = 0;
  CaptureFailure how = CaptureFailure::kEnd;
};
PlannedFailures& planned_failures() {
  static PlannedFailures& of_program = *new PlannedFailures;
  return of_program;
}
/// Whether a capture is to fail here, which counts as a failure that has happened.
bool fails_here(CaptureFailure where) {
  PlannedFailures& planned = planned_failures();
  const std::lock_guard lock(planned.mutex);
  if (planned.left == 0 || planned.how != where) return false;
  --planned.left;
  ++planned.happened;
  return true;
}

cudaError_t result(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

EmulatedMemory& memory_of(int device) {
  const std::lock_guard lock(runtime().mutex);
  auto& devices = runtime().devices;
  while (static_cast<int>(devices.size()) <= device)
    devices.push_back(std::make_unique<EmulatedMemory>(static_cast<int>(devices.size())));
  return *devices.at(static_cast<std::size_t>(device));
}
EmulatedMemory& memory() {
  return memory_of(emulation::used_device());
}

cudaError_t failed_with(const std::exception& error) {
  const std::lock_guard lock(runtime().mutex);
  if (runtime().fault.empty()) runtime().fault = error.what();
  return result(cudaErrorIllegalAddress);
}

bool is_lost() {
  const std::lock_guard lock(runtime().mutex);
  return !runtime().fault.empty();
}

/// Calls a function whose exceptions are faults of the device, unless there was an earlier fault.
template <class Function>
cudaError_t on_device(const Function& function) {
  if (is_lost()) {
    emulation::drop_work();
    return result(cudaErrorIllegalAddress);
  }
  try {
    function();
    return cudaSuccess;
  } catch (const std::exception& error) {
    return failed_with(error);
  }
}

bool is_pinned(const void* data, std::size_t bytes) {
  const std::lock_guard lock(runtime().mutex);
  return runtime().pinned.contain(data, bytes);
}
void require_pinned(const void* data, std::size_t bytes) {
  if (!is_pinned(data, bytes))
    throw std::runtime_error(fmt::format("a copy uses pinned memory at {} that is gone", data));
}

void put_copy_in(void* to, const void* from, std::size_t bytes) {
  EmulatedMemory& device = memory();
  if (is_pinned(from, bytes)) {
    emulation::put([&device, to, from, bytes] {
      require_pinned(from, bytes);
      device.write_now(to, from, bytes);
    });
    return;
  }
  const auto* const data = static_cast<const std::byte*>(from);
  emulation::put(
      [&device, to, staged = std::vector(data, data + bytes)] { device.write_now(to, staged.data(), staged.size()); });
}
void put_copy_out(void* to, const void* from, std::size_t bytes) {
  EmulatedMemory& device = memory();
  const bool pinned = is_pinned(to, bytes);
  emulation::put([&device, to, from, bytes, pinned] {
    if (pinned) require_pinned(to, bytes);
    device.read_now(to, from, bytes);
  });
  if (!pinned) emulation::wait_for_stream();  // as CUDA does with pageable memory
}

}  // namespace

void set_devices(int count) {
  runtime().device_count = count;
}
std::string take_fault() {
  const std::lock_guard lock(runtime().mutex);
  last_error = cudaSuccess;
  return std::exchange(runtime().fault, {});
}
void fail_captures(int count, CaptureFailure how) {
  PlannedFailures& planned = planned_failures();
  const std::lock_guard lock(planned.mutex);
  planned.left = count;
  planned.how = how;
}
int failed_captures() {
  PlannedFailures& planned = planned_failures();
  const std::lock_guard lock(planned.mutex);
  return planned.happened;
}
int allocations() {
  const std::lock_guard lock(runtime().mutex);
  return runtime().device_memory.count();
}
int pinned_allocations() {
  const std::lock_guard lock(runtime().mutex);
  return runtime().pinned.count();
}

}  // namespace dragoman::testing::fake_cuda

using namespace dragoman::testing;             // NOLINT(google-build-using-namespace)
using namespace dragoman::testing::fake_cuda;  // NOLINT(google-build-using-namespace)

struct CUevent_st {
  emulation::StreamPoint point;
  bool captured = false;
};
struct CUgraph_st {
  std::shared_ptr<const std::vector<emulation::Work>> works;
};
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<emulation::Work>> works;
};

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = runtime().device_count;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device >= runtime().device_count) return result(cudaErrorInvalidDevice);
  *properties = {};
  std::strcpy(properties->name, "an emulated device");
  properties->major = 9;
  properties->totalGlobalMem = std::size_t{8} << 30;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device >= runtime().device_count) return result(cudaErrorInvalidDevice);
  emulation::prepare_thread();
  emulation::use_device(device);
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress" : "an error";
}
const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorIllegalAddress) {
    const std::lock_guard lock(runtime().mutex);
    runtime().fault_text = "an illegal memory access was encountered: " + runtime().fault;
    return runtime().fault_text.c_str();
  }
  return is_of_capture(error) ? "operation not permitted while a stream is capturing" : "it failed";
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  if (!allowed(Call::kUnsafe)) return result(cudaErrorStreamCaptureUnsupported);
  try {
    *data = memory().allocate(bytes);
  } catch (const std::bad_alloc&) {
    return result(cudaErrorMemoryAllocation);
  }
  const std::lock_guard lock(runtime().mutex);
  runtime().device_memory.add(*data, bytes);
  return cudaSuccess;
}
/// Waits for no stream, although CUDA does in most cases: nothing should depend on that.
cudaError_t cudaFree(void* data) {
  if (data == nullptr) return cudaSuccess;
  if (!allowed(Call::kUnsafe)) return result(cudaErrorStreamCaptureUnsupported);
  std::size_t bytes = 0;
  {
    const std::lock_guard lock(runtime().mutex);
    bytes = runtime().device_memory.remove(data);
  }
  if (bytes == 0) return result(cudaErrorInvalidValue);
  for (int device = 0; device < runtime().device_count; ++device)
    if (memory_of(device).has(data)) memory_of(device).release_now(data, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* all) {
  *all = std::size_t{8} << 30;
  *free_bytes = *all - memory().use().taken();
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
  if (!allowed(Call::kUnsafe)) return result(cudaErrorStreamCaptureUnsupported);
  *data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  const std::lock_guard lock(runtime().mutex);
  runtime().pinned.add(*data, bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  if (!allowed(Call::kUnsafe)) return result(cudaErrorStreamCaptureUnsupported);
  {
    const std::lock_guard lock(runtime().mutex);
    if (runtime().pinned.remove(data) == 0) return result(cudaErrorInvalidValue);
  }
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (stream != cudaStreamPerThread) {
    if (!allowed(Call::kLegacyStream)) return result(cudaErrorStreamCaptureImplicit);
    return result(cudaErrorNotSupported);
  }
  if (bytes == 0) return cudaSuccess;
  return on_device([&] {
    if (kind == cudaMemcpyHostToDevice)
      put_copy_in(to, from, bytes);
    else if (kind == cudaMemcpyDeviceToHost)
      put_copy_out(to, from, bytes);
    else
      memory().queue_copy(to, from, bytes);
  });
}
cudaError_t cudaMemcpy(void*, const void*, std::size_t, cudaMemcpyKind) {
  return result(allowed(Call::kLegacyStream) ? cudaErrorNotSupported : cudaErrorStreamCaptureImplicit);
}
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  if (stream != cudaStreamPerThread || value != 0) return result(cudaErrorNotSupported);
  return on_device([&] { memory().queue_clear(data, bytes); });
}

cudaError_t cudaDeviceSynchronize() {
  if (!allowed(Call::kDeviceWait)) return result(cudaErrorStreamCaptureUnsupported);
  return on_device([] { emulation::wait_for_all_streams(); });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream != cudaStreamPerThread) return result(cudaErrorNotSupported);
  if (!allowed(Call::kStreamWait)) return result(cudaErrorStreamCaptureUnsupported);
  return on_device([] { emulation::wait_for_stream(); });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned) {
  return result(cudaErrorNotSupported);
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
  return result(cudaErrorNotSupported);
}
cudaError_t cudaStreamQuery(cudaStream_t) {
  return result(cudaErrorNotSupported);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return result(cudaErrorNotSupported);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (stream != cudaStreamPerThread) return result(cudaErrorNotSupported);
  event->captured = emulation::capturing();
  event->point = emulation::StreamPoint::now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->captured) return result(cudaErrorCapturedEvent);
  return on_device([&] { event->point.wait(); });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = emulation::capturing() ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (stream != cudaStreamPerThread || emulation::capturing()) return result(cudaErrorIllegalState);
  if (fails_here(CaptureFailure::kBegin)) return result(cudaErrorStreamCaptureUnsupported);
  emulation::begin_capture();
  begin_capture(mode);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = nullptr;
  if (!emulation::capturing()) return result(cudaErrorIllegalState);
  const bool whole = end_capture();
  if (!whole || fails_here(CaptureFailure::kEnd)) {
    emulation::abandon_capture();
    return result(cudaErrorStreamCaptureInvalidated);
  }
  try {
    *graph = new CUgraph_st{std::make_shared<const std::vector<emulation::Work>>(emulation::end_capture())};
  } catch (const std::runtime_error&) {
    return result(cudaErrorStreamCaptureInvalidated);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, std::size_t* count) {
  *count = graph->works->size();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* graph, cudaGraph_t from, unsigned long long) {
  if (fails_here(CaptureFailure::kInstantiation)) return result(cudaErrorMemoryAllocation);
  *graph = new CUgraphExec_st{from->works};
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  if (stream != cudaStreamPerThread) return result(cudaErrorNotSupported);
  return on_device([&] {
    emulation::put([&device = memory()] { device.allow_replay(); });
    for (const emulation::Work& work : *graph->works) emulation::put(work);
  });
}

}  // extern "C"
