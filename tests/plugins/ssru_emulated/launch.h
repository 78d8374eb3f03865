#pragma once

#include "simt.h"

#define SSRU_DEVICE inline

/// plugins/ssru/cuda/hardware/launch.h in terms of the emulation.
namespace dragoman::ssru::device {

inline std::int64_t block_index() {
  return backend::cuda::simt::block_index();
}
inline int thread_index() {
  return backend::cuda::simt::thread_index();
}

template <class Kernel>
const char* launch(std::int64_t blocks, int threads, void*, const Kernel& kernel) {
  backend::cuda::simt::launch({blocks}, threads, 0, kernel);
  return nullptr;
}

}  // namespace dragoman::ssru::device
