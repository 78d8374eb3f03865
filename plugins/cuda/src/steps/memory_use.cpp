#include "dragoman/backend_cuda/memory_use.h"

#include <dragoman/core/error.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/sizes.h>

namespace dragoman::backend::cuda {
namespace {

constexpr const char* kRemedy =
    "use smaller batches (`rows`, training.batch_tokens), training.recompute: true, or bf16 or int8 weights "
    "(`compute`)";

}  // namespace

void MemoryUse::bound(std::uint64_t bytes) noexcept {
  std::uint64_t most = most_;
  while (bytes < most && !most_.compare_exchange_weak(most, bytes)) continue;
}

void MemoryUse::take(std::uint64_t bytes, int device) {
  const std::uint64_t most = most_;
  const std::uint64_t before = taken_.fetch_add(bytes);
  if (before <= most && bytes <= most - before) return;
  taken_ -= bytes;
  core::fail_option("memory", core::ErrorCode::kUnsupported,
                    "device {}: {} more would be beyond the {} that may be taken of its memory (`memory`, "
                    "training.device_memory), of which {} are; {}, or allow more",
                    device, core::describe_size(bytes), core::describe_size(most), core::describe_size(before),
                    kRemedy);
}

void fail_for_memory(std::uint64_t bytes, int device, std::uint64_t free, std::uint64_t all, std::uint64_t taken) {
  core::fail_option(
      "rows", core::ErrorCode::kUnsupported,
      "device {} has no room for {} more: {} of its {} are free, {} are this program's; {}, or a device that "
      "nothing else uses",
      device, core::describe_size(bytes), core::describe_size(free), core::describe_size(all),
      core::describe_size(taken), kRemedy);
}

}  // namespace dragoman::backend::cuda
