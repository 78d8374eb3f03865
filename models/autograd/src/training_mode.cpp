#include "dragoman/autograd/training_mode.h"

#include "dragoman/autograd/tape.h"

#include <memory>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>

namespace dragoman::autograd {
namespace {

[[noreturn]] void fail_without_seed() {
  core::fail(core::ErrorCode::kInvalidArgument,
             "a random op needs a seed: call autograd::training_mode(context).set_random() before the step");
}

}  // namespace

void TrainingMode::set_random(std::uint64_t seed, std::uint64_t step) {
  key_ = {seed, step};
  if (device_key_.data() == nullptr) device_key_ = tensor::Buffer(*memory_, sizeof(tensor::RandomKey));
  memory_->upload(device_key_.data(), &key_, sizeof(tensor::RandomKey));
  random_stream_ = 0;
}

tensor::RandomState TrainingMode::next_random() {
  if (device_key_.data() == nullptr) fail_without_seed();
  return {static_cast<const tensor::RandomKey*>(device_key_.data()), random_stream_++};
}

double TrainingMode::next_uniform() {
  const std::uint64_t number = next_random().stream;
  return core::random_uniform(key_.seed, (key_.step << 16) | (number & 0xFFFF), 0);
}

tensor::ExtensionState TrainingMode::state() const {
  return {gradients_.generation(), random_stream_, static_cast<std::uint64_t>(compute_type_),
          (training_ ? 1U : 0U) | (tape_ != nullptr ? 2U : 0U)};
}

void TrainingMode::resume(const tensor::ExtensionState& state) {
  random_stream_ = state[1];
}

TrainingMode& training_mode(Context& context) {
  if (auto* mode = context.extension<TrainingMode>()) return *mode;
  return context.attach(std::make_unique<TrainingMode>(context.memory()));
}

void TrainingMode::restart(const tensor::ExtensionState& state) {
  resume(state);
  gradients_.reset();
  if (tape_ != nullptr) tape_->clear();
}

tensor::RandomState next_random(Context& context) {
  auto* mode = context.extension<TrainingMode>();
  if (mode == nullptr) fail_without_seed();
  return mode->next_random();
}

double next_uniform(Context& context) {
  auto* mode = context.extension<TrainingMode>();
  if (mode == nullptr) fail_without_seed();
  return mode->next_uniform();
}

}  // namespace dragoman::autograd
