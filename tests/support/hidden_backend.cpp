#include "hidden_backend.h"

#include <cstdint>
#include <cstring>

#include <pthread.h>

#include <dragoman/ops/kernels.h>

namespace dragoman::testing {

const std::any* HiddenRecorder::replay(const tensor::StepSignature& signature) {
  const auto found = recordings_.find(signature);
  if (found == recordings_.end() || !found->second.output.has_value()) return nullptr;
  static_cast<HiddenMemory&>(context_.memory()).allow_replay();
  for (const Call& call : found->second.calls) {
    context_.arena().rewind({0, 0});
    context_.arena().advance(call.before);
    call.run(context_);
  }
  ++counts_.replayed;
  return &found->second.output;
}

void HiddenRecorder::begin(const tensor::StepSignature& signature) {
  ++counts_.run;
  Recording& recording = recordings_[signature];
  if (++recording.seen == 2) open_ = &recording;
}

bool HiddenRecorder::end(std::any output) {
  if (open_ != nullptr) open_->output = std::move(output);
  open_ = nullptr;
  return true;
}

bool HiddenRecorder::abandon(const char* /*reason*/) noexcept {
  open_ = nullptr;
  return false;
}

void HiddenRecorder::add(std::function<void(tensor::Context&)> call) {
  if (open_ != nullptr) open_->calls.push_back({context_.arena().mark(), std::move(call)});
}

namespace {

/// The exact range of the calling thread's stack: adjacent memory (a mapped model, device memory) is not an error.
/// Finding the range takes a while in the first thread, and kernels are called often.
struct Stack {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;

  Stack() {
    pthread_attr_t attributes;
    core::require(pthread_getattr_np(pthread_self(), &attributes) == 0, core::ErrorCode::kInternal,
                  "where the stack lies is not known");
    void* lowest = nullptr;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    begin = reinterpret_cast<std::uintptr_t>(lowest);
  }
};

}  // namespace

void require_device_addresses(tensor::Context& context, const void* arguments, std::size_t bytes,
                              std::string_view kernel) {
  static thread_local const Stack stack;
  for (std::size_t i = 0; i + sizeof(void*) <= bytes; i += sizeof(void*)) {
    const void* word = nullptr;
    std::memcpy(&word, static_cast<const char*>(arguments) + i, sizeof word);
    const bool on_stack = reinterpret_cast<std::uintptr_t>(word) - stack.begin < stack.bytes;
    if (on_stack || context.host_arena().contains(word))
      core::fail(core::ErrorCode::kInternal, "the arguments of '{}' hold an address of the host's", kernel);
  }
}

HiddenBackend::HiddenBackend(const tensor::KernelTable& inner, std::string_view name, Steps steps, Opening opening)
    : Backend(name), steps_(steps), opening_(opening) {
  ops::for_each_key(ops::kKernels, [&](auto key) { wrap(key, inner); });
  const auto wrap_if_there = [&](auto key) {
    if (inner.find(key) != nullptr) wrap(key, inner);
  };
  ops::for_each_key(ops::kFusedKernels, wrap_if_there);
  ops::for_each_key(ops::kShortlistKernels, wrap_if_there);
  ops::for_each_key(ops::kRecomputingKernels, wrap_if_there);
  ops::for_each_key(ops::kStepKernels, wrap_if_there);
}

}  // namespace dragoman::testing
