#include "dragoman/training/optimizer.h"

#include <algorithm>
#include <cmath>

#include <dragoman/ops/adam.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::training {

using tensor::Tensor;

Optimizer::Optimizer(nn::ParameterStore& parameters, tensor::DeviceMemory& memory, const OptimizerConfig& config,
                     double clip_norm, double ema_decay)
    : parameters_(&parameters),
      trained_(trained_ranges()),
      config_(config),
      clip_norm_(clip_norm),
      ema_decay_(ema_decay) {
  first_moment_ = make_state(first_buffer_, memory);
  second_moment_ = make_state(second_buffer_, memory);
  if (ema_decay > 0) average_ = make_state(average_buffer_, memory);
  generation_ = tensor::next_generation();
}

std::vector<Optimizer::Range> Optimizer::trained_ranges() const {
  const Tensor flat = parameters_->flat_values();
  std::vector<Range> ranges;
  Range range;
  for (const nn::Parameter& parameter : parameters_->all()) {
    if (!parameter.frozen) continue;
    const auto bytes = static_cast<const char*>(parameter.value.data) - static_cast<const char*>(flat.data);
    range.end = bytes / static_cast<std::int64_t>(tensor::size_of(flat.dtype));
    if (range.end > range.begin) ranges.push_back(range);
    range.begin = range.end + parameter.rows * parameter.cols;
  }
  range.end = flat.cols;
  if (range.end > range.begin) ranges.push_back(range);
  return ranges;
}

Tensor Optimizer::make_state(tensor::Buffer& buffer, tensor::DeviceMemory& memory) const {
  Tensor state = parameters_->flat_values();
  const auto bytes = static_cast<std::size_t>(state.size()) * tensor::size_of(state.dtype);
  buffer = tensor::Buffer(memory, bytes);
  memory.clear(buffer.data(), bytes);
  state.data = buffer.data();
  return state;
}

double Optimizer::gradient_norm(tensor::Context& context) const {
  return std::sqrt(ops::sum_of_squares(context, parameters_->flat_gradients()));
}

bool Optimizer::parameters_are_finite(tensor::Context& context) const {
  return std::isfinite(ops::sum_of_squares(context, parameters_->flat_values()));
}

void Optimizer::apply(tensor::Context& context, std::int64_t update, double learning_rate, double gradient_norm) {
  const bool clips = clip_norm_ > 0 && gradient_norm > clip_norm_;
  const ops::AdamStep now{
      .learning_rate = learning_rate, .gradient_scale = clips ? clip_norm_ / gradient_norm : 1, .step = update};
  const auto t = static_cast<double>(update);
  const double decay = std::min(ema_decay_, (1 + t) / (10 + t));
  ops::DeviceArray<ops::AdamStep> step;
  ops::DeviceArray<double> average_decay;
  context.step(
      [&]() -> tensor::StepKey {
        step = context.upload(std::span(&now, 1));
        if (has_average()) average_decay = context.upload(std::span(&decay, 1));
        return {"update", {parameters_->generation(), generation_}};
      },
      [&] {
        for (const Range& range : trained_) {
          ops::adam(context, {.parameters = range.of(parameters_->flat_values()),
                              .gradients = range.of(parameters_->flat_gradients()),
                              .first_moment = range.of(first_moment_),
                              .second_moment = range.of(second_moment_),
                              .beta1 = config_.beta1,
                              .beta2 = config_.beta2,
                              .epsilon = config_.epsilon,
                              .weight_decay = config_.weight_decay,
                              .step = step});
          if (has_average())
            ops::moving_average(context, {.average = range.of(average_),
                                          .values = range.of(parameters_->flat_values()),
                                          .decay = average_decay});
        }
        return true;
      });
}

void Optimizer::start_average() {
  tensor::copy(average_buffer_.memory(), average_, parameters_->flat_values());
}

Tensor Optimizer::averaged_values() const noexcept {
  return has_average() ? average_ : parameters_->flat_values();
}

std::vector<NamedTensor> Optimizer::views(const Tensor& flat) const {
  std::vector<NamedTensor> result;
  if (flat.empty()) return result;
  const auto* values = static_cast<const char*>(parameters_->flat_values().data);
  for (NamedTensor view : parameter_views(*parameters_)) {
    view.tensor.data = static_cast<char*>(flat.data) + (static_cast<const char*>(view.tensor.data) - values);
    result.push_back(std::move(view));
  }
  return result;
}

std::vector<NamedTensor> parameter_views(const nn::ParameterStore& parameters) {
  std::vector<NamedTensor> result;
  for (const nn::Parameter& parameter : parameters.all())
    result.push_back({parameter.name, parameter.value, &parameters.memory()});
  return result;
}

}  // namespace dragoman::training
