#pragma once

namespace dragoman::tensor {

class Context;

/// The queue of a device that runs kernels asynchronously. A backend of such devices, such as `cuda`, implements it in
/// its DeviceMemory. Plugins use it through KernelLaunch.
class LaunchQueue {
 public:
  struct Launch {
    void* stream = nullptr;  ///< in the backend's terms: of `cuda` a cudaStream_t
    void* timer = nullptr;   ///< of the queue's own
  };

  virtual ~LaunchQueue();
  /// Makes the device the calling thread's current one, and returns the thread's stream on it.
  virtual Launch begin_launch() = 0;
  /// `kernel` names what was launched since begin_launch(); it lives as long as the process.
  virtual void end_launch(const Launch& launch, const char* kernel) noexcept = 0;
};

/// The scope of one launch of a plugin's kernel on a context's device:
///
///     const tensor::KernelLaunch launch(context, "mine.op");
///     my_kernel<<<blocks, threads, 0, static_cast<cudaStream_t>(launch.stream())>>>(...);
///
/// Within the scope the device is the calling thread's current one. The kernel runs after all that the thread launched
/// before. It is recorded with its step if the device records steps, and its time is taken under the name `kernel` if
/// times are taken. The plugin must not wait for the kernel, allocate device memory or change the current device.
class KernelLaunch {
 public:
  /// `kernel` lives as long as the process: a literal. Error{kUnsupported} if the device has no queue, as the CPU has
  /// none: its kernels are functions that the host calls.
  KernelLaunch(Context& context, const char* kernel);
  KernelLaunch(const KernelLaunch&) = delete;
  KernelLaunch& operator=(const KernelLaunch&) = delete;
  ~KernelLaunch();

  void* stream() const noexcept { return launch_.stream; }

 private:
  LaunchQueue& queue_;
  const char* kernel_;
  LaunchQueue::Launch launch_;
};

}  // namespace dragoman::tensor
