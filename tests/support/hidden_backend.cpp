#include "hidden_backend.h"

#include <cstdint>
#include <cstring>

#include <dragoman/ops/kernels.h>

namespace dragoman::testing {

const std::any* HiddenRecorder::replay(const tensor::StepSignature& signature) {
  const auto found = recordings_.find(signature);
  if (found == recordings_.end() || !found->second.output.has_value()) return nullptr;
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

void HiddenRecorder::end(std::any output) {
  if (open_ != nullptr) open_->output = std::move(output);
  open_ = nullptr;
}

void HiddenRecorder::add(std::function<void(tensor::Context&)> call) {
  if (open_ != nullptr) open_->calls.push_back({context_.arena().mark(), std::move(call)});
}

void require_device_addresses(tensor::Context& context, const void* arguments, std::size_t bytes,
                              std::string_view kernel) {
  constexpr std::uintptr_t kStack = std::uintptr_t{1} << 20;
  const auto here = reinterpret_cast<std::uintptr_t>(&bytes);
  for (std::size_t i = 0; i + sizeof(void*) <= bytes; i += sizeof(void*)) {
    const void* word = nullptr;
    std::memcpy(&word, static_cast<const char*>(arguments) + i, sizeof word);
    const auto address = reinterpret_cast<std::uintptr_t>(word);
    const bool on_stack = address > here - kStack && address < here + kStack;
    if (on_stack || context.host_arena().contains(word))
      core::fail(core::ErrorCode::kInternal, "the arguments of '{}' hold an address of the host's", kernel);
  }
}

HiddenBackend::HiddenBackend(const tensor::KernelTable& cpu, std::string_view name, Steps steps)
    : Backend(name), steps_(steps) {
  ops::for_each_key(ops::kKernels, [&](auto key) { wrap(key, cpu); });
  ops::for_each_key(ops::kFusedKernels, [&](auto key) { wrap(key, cpu); });
}

}  // namespace dragoman::testing
