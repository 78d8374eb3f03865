#include "captures.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace dragoman::testing::fake_cuda {
namespace {

struct Capture {
  std::thread::id thread;
  cudaStreamCaptureMode mode;
  bool ended_early = false;
};
struct Captures {
  std::mutex mutex;
  std::vector<Capture> all;
};
Captures& captures() {
  static Captures& of_program = *new Captures;
  return of_program;
}

/// Source: NVIDIA, CUDA Runtime API: cudaThreadExchangeStreamCaptureMode(); CUDA Programming Guide: Prohibited and
/// Unhandled Operations.
bool forbids(const Capture& capture, Call call) {
  const bool is_own = capture.thread == std::this_thread::get_id();
  switch (call) {
    case Call::kUnsafe:
      return is_own ? capture.mode != cudaStreamCaptureModeRelaxed : capture.mode == cudaStreamCaptureModeGlobal;
    case Call::kStreamWait:
      return is_own;
    case Call::kDeviceWait:
    case Call::kLegacyStream:
      return true;
  }
  return true;
}

}  // namespace

void begin_capture(cudaStreamCaptureMode mode) {
  const std::lock_guard lock(captures().mutex);
  captures().all.push_back({std::this_thread::get_id(), mode});
}

bool end_capture() {
  const std::lock_guard lock(captures().mutex);
  auto& all = captures().all;
  const auto own = std::ranges::find(all, std::this_thread::get_id(), &Capture::thread);
  if (own == all.end()) return false;
  const bool whole = !own->ended_early;
  all.erase(own);
  return whole;
}

bool allowed(Call call) {
  const std::lock_guard lock(captures().mutex);
  bool free = true;
  for (Capture& capture : captures().all) {
    if (!forbids(capture, call)) continue;
    capture.ended_early = true;
    free = false;
  }
  return free;
}

bool is_of_capture(cudaError_t error) {
  return error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorCapturedEvent;
}

}  // namespace dragoman::testing::fake_cuda
