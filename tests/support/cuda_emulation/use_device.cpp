#include "use_device.h"

#include "launch.h"

// In a separate source, because programs that test the backend's calls of CUDA have the real functions.
void dragoman::backend::cuda::device::use(int number) {
  dragoman::testing::emulation::use_device(number);
}
void dragoman::backend::cuda::device::wait() {
  dragoman::testing::emulation::wait_for_stream();
}
