#include "emulated_nccl.h"

#include <chrono>
#include <thread>

#include <dlfcn.h>

#include <dragoman/core/error.h>

namespace dragoman::testing {
namespace {

/// A stream of the library. It begins when the previous launches are done, and later launches wait for it.
class EmulatedQueue final : public backend::cuda::LinkQueue {
 public:
  EmulatedQueue(const char* file, EmulatedMemory& memory, int device)
      : library_(dlopen(file, RTLD_NOW | RTLD_LOCAL)), device_(device) {
    core::require(library_ != nullptr, core::ErrorCode::kInternal, "no fake library at {}", file);
    const auto create = function<void*(int, void (*)(void*), void (*)(void*), void*)>("fakeNcclStreamCreate");
    stream_ = create(
        device, [](void* of) { static_cast<EmulatedMemory*>(of)->open(); },
        [](void* of) { static_cast<EmulatedMemory*>(of)->close(); }, &memory);
    using OnBytes = void (*)(void*, const void*, unsigned long);
    function<void(void*, OnBytes, OnBytes)>("fakeNcclStreamWatch")(
        stream_,
        [](void* of, const void* data, unsigned long bytes) {
          static_cast<EmulatedMemory*>(of)->watch().require_written(data, bytes, "an exchange sends");
        },
        [](void* of, const void* data, unsigned long bytes) {
          static_cast<EmulatedMemory*>(of)->watch().written(data, bytes);
        });
  }
  EmulatedQueue(const EmulatedQueue&) = delete;
  EmulatedQueue& operator=(const EmulatedQueue&) = delete;
  ~EmulatedQueue() override { function<void(void*)>("fakeNcclStreamDestroy")(stream_); }

  void use() override { function<void(int)>("fakeNcclUseDevice")(device_); }
  void* stream() override { return stream_; }
  void begin() override {
    emulation::require_no_capture("an exchange");
    emulation::wait_for_stream();
  }
  void end(const std::function<void()>& meanwhile) override {
    while (!done()) {
      meanwhile();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  bool done() override { return function<int(void*)>("fakeNcclStreamIdle")(stream_) != 0; }

 private:
  template <class Signature>
  Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(dlsym(library_, name));
  }

  void* library_;
  int device_;
  void* stream_ = nullptr;
};

}  // namespace

std::unique_ptr<backend::cuda::LinkQueue> make_emulated_queue(const char* file, EmulatedCuda& backend, int device) {
  return std::make_unique<EmulatedQueue>(file, backend.memory(device), device);
}

std::unique_ptr<collective::DeviceLinks> make_emulated_links(const backend::cuda::NcclLoad& load, const char* file,
                                                             EmulatedCuda& backend,
                                                             const collective::LinkRequest& request) {
  return std::make_unique<backend::cuda::NcclLinks>(*load.api, make_emulated_queue(file, backend, request.device),
                                                    request);
}

}  // namespace dragoman::testing
