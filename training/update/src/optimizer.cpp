#include "dragoman/training/optimizer.h"

#include "update_rule.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <dragoman/ops/adam.h>
#include <dragoman/ops/update.h>
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
  record_ = tensor::Buffer(memory, sizeof(ops::UpdateRecord));
  memory.clear(record_.data(), record_.size());
  generation_ = tensor::next_generation();
}

Optimizer::~Optimizer() = default;
Optimizer::Optimizer(Optimizer&&) noexcept = default;

bool Optimizer::parameters_are_finite(tensor::Context& context) const {
  return std::isfinite(ops::sum_of_squares(context, parameters_->flat_values()));
}

void Optimizer::apply(tensor::Context& context, const Update& update) {
  const auto t = static_cast<double>(update.update);
  const auto loss_scale = static_cast<double>(update.loss_scale);
  const double clip_value = update.clip_value * loss_scale;
  const ops::UpdatePlan now{.learning_rate = update.learning_rate,
                            .average_decay = std::min(ema_decay_, (1 + t) / (10 + t)),
                            .clip_norm = clip_norm_,
                            .loss_scale = loss_scale,
                            .step = update.update - begun_after_,
                            .depends_on_previous = update.depends_on_previous ? 1 : 0};
  auto* const record = static_cast<ops::UpdateRecord*>(record_.data());
  const ops::DeviceArray<ops::UpdateStep> step{&record->step, 1};
  ops::DeviceArray<ops::UpdatePlan> plan;
  context.step(
      [&]() -> tensor::StepKey {
        plan = context.upload(std::span(&now, 1));
        return {
            "update",
            {parameters_->generation(), generation_, update.losses.size(), std::bit_cast<std::int64_t>(clip_value)}};
      },
      [&] {
        const Tensor gradients = parameters_->flat_gradients();
        const Tensor squares = ops::queue_sum_of_squares(context, gradients);
        Tensor clipped_squares;
        if (clip_value > 0) {
          ops::clip_values(context, gradients, clip_value);
          clipped_squares = ops::queue_sum_of_squares(context, gradients);
        }
        ops::prepare_update(context, {.plan = plan,
                                      .losses = update.losses,
                                      .sum_of_squares = squares,
                                      .clipped_sum_of_squares = clipped_squares,
                                      .record = record});
        rule_->apply(context, step);
        const Tensor values = parameters_->flat_values();
        for (const auto& [begin, end] : averaged_)
          ops::moving_average(
              context,
              {.average = average_.col_range(begin, end), .values = values.col_range(begin, end), .step = step});
        return true;
      });
}

PendingUpdate Optimizer::last() const {
  return PendingUpdate(record_.memory().begin_read(record_.data(), record_.size()));
}

ops::UpdateRecord PendingUpdate::wait() const {
  ops::UpdateRecord record;
  std::memcpy(&record, record_->wait().data(), sizeof record);
  return record;
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
