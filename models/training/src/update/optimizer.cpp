#include "dragoman/training/optimizer.h"

#include "update/update_rule.h"

#include <algorithm>
#include <cmath>

#include <dragoman/ops/adam.h>
#include <dragoman/ops/update_rules.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::training {

using tensor::Tensor;

Optimizer::Optimizer(nn::ParameterStore& parameters, tensor::DeviceMemory& memory, const OptimizerConfig& config,
                     double clip_norm, double ema_decay)
    : parameters_(&parameters), config_(config), clip_norm_(clip_norm), ema_decay_(ema_decay) {
  const std::vector<bool> decays = decaying_parameters(config, parameters);
  rule_ = make_update_rule(config, parameters, memory, trained_ranges(parameters, decays));
  if (ema_decay > 0) {
    average_ = parameters.flat_values();
    const auto bytes = static_cast<std::size_t>(average_.size()) * tensor::size_of(average_.dtype);
    average_buffer_ = tensor::Buffer(memory, bytes);
    memory.clear(average_buffer_.data(), bytes);
    average_.data = average_buffer_.data();
    for (const TrainedRange& range : trained_ranges(parameters, std::vector<bool>(decays.size(), true)))
      averaged_.emplace_back(range.begin, range.end);
  }
  generation_ = tensor::next_generation();
}

Optimizer::~Optimizer() = default;
Optimizer::Optimizer(Optimizer&&) noexcept = default;

double Optimizer::gradient_norm(tensor::Context& context) const {
  return std::sqrt(ops::sum_of_squares(context, parameters_->flat_gradients()));
}

void Optimizer::clip_gradients(tensor::Context& context, double limit) const {
  context.step([&] { ops::clip_values(context, parameters_->flat_gradients(), limit); });
}

bool Optimizer::parameters_are_finite(tensor::Context& context) const {
  return std::isfinite(ops::sum_of_squares(context, parameters_->flat_values()));
}

void Optimizer::apply(tensor::Context& context, std::int64_t update, double learning_rate, double gradient_norm,
                      std::int64_t loss_scale) {
  const bool clips = clip_norm_ > 0 && gradient_norm > clip_norm_;
  const ops::AdamStep now{.learning_rate = learning_rate,
                          .gradient_scale = (clips ? clip_norm_ / gradient_norm : 1) / static_cast<double>(loss_scale),
                          .step = update - begun_after_};
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
        rule_->apply(context, step);
        const Tensor values = parameters_->flat_values();
        for (const auto& [begin, end] : averaged_)
          ops::moving_average(context, {.average = average_.col_range(begin, end),
                                        .values = values.col_range(begin, end),
                                        .decay = average_decay});
        return true;
      });
}

void Optimizer::start_average() {
  tensor::copy(average_buffer_.memory(), average_, parameters_->flat_values());
}

Tensor Optimizer::averaged_values() const noexcept {
  return has_average() ? average_ : parameters_->flat_values();
}

std::vector<OptimizerState> Optimizer::states() const {
  return rule_->states();
}

std::vector<NamedTensor> Optimizer::averages() const {
  return has_average() ? views_of(*parameters_, average_) : std::vector<NamedTensor>{};
}

std::vector<NamedTensor> parameter_views(const nn::ParameterStore& parameters) {
  std::vector<NamedTensor> result;
  for (const nn::Parameter& parameter : parameters.all())
    result.push_back({parameter.name, parameter.value, &parameters.memory()});
  return result;
}

}  // namespace dragoman::training
