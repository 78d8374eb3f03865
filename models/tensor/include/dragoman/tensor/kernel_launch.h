#pragma once

namespace dragoman::tensor {

class Context;

/// The queue of a device that runs kernels asynchronously. The DeviceMemory of such a backend, for example `cuda`,
/// implements it. Plugins use it through KernelLaunch.
class LaunchQueue {
 public:
  struct Launch {
    void* stream = nullptr;  ///< in the backend's terms; a cudaStream_t for `cuda`
    void* timer = nullptr;   ///< private to the queue
  };

  virtual ~LaunchQueue();
  /// Makes the device current for the calling thread, and returns the thread's stream on it.
  virtual Launch begin_launch() = 0;
  /// `kernel` names the kernel that was launched since begin_launch(). The string must live as long as the process.
  virtual void end_launch(const Launch& launch, const char* kernel) noexcept = 0;
};

/// The scope of one launch of a plugin's kernel on a context's device:
///
///     const tensor::KernelLaunch launch(context, "mine.op");
///     my_kernel<<<blocks, threads, 0, static_cast<cudaStream_t>(launch.stream())>>>(...);
///
/// Within the scope the device is current for the calling thread. The kernel runs after everything that the thread
/// launched before. If the device records steps, the kernel is recorded. If kernel times are measured, its time counts
/// under the name `kernel`. The plugin must not wait for the kernel, allocate device memory or change the current
/// device.
class KernelLaunch {
 public:
  /// `kernel` must live as long as the process: pass a literal. Error{kUnsupported} if the device has no queue. The CPU
  /// has none, because its kernels are functions that the host calls.
  KernelLaunch(Context& context, const char* kernel);
  KernelLaunch(const KernelLaunch&) = delete;
  KernelLaunch& operator=(const KernelLaunch&) = delete;
  ~KernelLaunch();

  /// The stream to launch the kernel on.
  void* stream() const noexcept { return launch_.stream; }

 private:
  LaunchQueue& queue_;
  const char* kernel_;
  LaunchQueue::Launch launch_;
};

}  // namespace dragoman::tensor
