#include "use_device.h"

#include "launch.h"

// In a source of its own, since the programs that test the backend's calls of CUDA have the real ones.
void dragoman::backend::cuda::device::use(int number) {
  dragoman::testing::emulation::use_device(number);
}
void dragoman::backend::cuda::device::wait() {
  dragoman::testing::emulation::wait_for_stream();
}
