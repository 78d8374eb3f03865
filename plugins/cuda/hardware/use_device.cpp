#include "use_device.h"

#include "device_error.h"

namespace dragoman::backend::cuda::device {

void use(int number) {
  static thread_local int used = -1;
  if (used == number) return;
  require_success(cudaSetDevice(number), "choosing a device");
  used = number;
}

void wait() {
  require_success(cudaStreamSynchronize(cudaStreamPerThread), "a kernel");
}

}  // namespace dragoman::backend::cuda::device
