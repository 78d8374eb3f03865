#include "update_rule.h"

#include "configuration/parameter_patterns.h"

#include <optional>

#include <dragoman/ops/update_rules.h>

namespace dragoman::training {

using tensor::Tensor;

FlatState::FlatState(const nn::ParameterStore& parameters, tensor::DeviceMemory& memory)
    : parameters_(&parameters), flat_(parameters.flat_values()) {
  const auto bytes = static_cast<std::size_t>(flat_.size()) * tensor::size_of(flat_.dtype);
  buffer_ = tensor::Buffer(memory, bytes);
  memory.clear(buffer_.data(), bytes);
  flat_.data = buffer_.data();
}

std::vector<NamedTensor> views_of(const nn::ParameterStore& parameters, const Tensor& flat) {
  std::vector<NamedTensor> result;
  const auto* values = static_cast<const char*>(parameters.flat_values().data);
  for (NamedTensor view : parameter_views(parameters)) {
    view.tensor.data = static_cast<char*>(flat.data) + (static_cast<const char*>(view.tensor.data) - values);
    result.push_back(std::move(view));
  }
  return result;
}

std::vector<bool> decaying_parameters(const OptimizerConfig& config, const nn::ParameterStore& parameters) {
  std::vector<std::string> names;
  for (const nn::Parameter& parameter : parameters.all()) names.push_back(parameter.name);
  require_matches(config.no_decay, names, "optimizer.no_decay", "parameter");
  std::vector<bool> decays;
  for (const std::string& name : names) decays.push_back(!matches_any(config.no_decay, name));
  return decays;
}

std::vector<TrainedRange> trained_ranges(const nn::ParameterStore& parameters, const std::vector<bool>& decays) {
  const Tensor flat = parameters.flat_values();
  std::vector<TrainedRange> ranges;
  TrainedRange range;
  const auto close = [&](std::int64_t end) {
    range.end = end;
    if (range.end > range.begin) ranges.push_back(range);
    range.begin = end;
  };
  std::size_t number = 0;
  for (const nn::Parameter& parameter : parameters.all()) {
    const bool decays_here = decays[number++];
    const auto bytes = static_cast<const char*>(parameter.value.data) - static_cast<const char*>(flat.data);
    const std::int64_t begin = bytes / static_cast<std::int64_t>(tensor::size_of(flat.dtype));
    if (parameter.frozen) {
      close(begin);
      range.begin = begin + parameter.rows * parameter.cols;
    } else if (decays_here != range.decays) {
      close(begin);
      range.decays = decays_here;
    }
  }
  close(flat.cols);
  return ranges;
}

namespace {

/// The common part of rules that process flat buffers regardless of the parameters in them.
class FlatRule : public UpdateRule {
 public:
  FlatRule(const OptimizerConfig& config, nn::ParameterStore& parameters, const std::vector<TrainedRange>& ranges)
      : config_(config), parameters_(&parameters), ranges_(ranges) {}

 protected:
  /// Calls body(range, values, gradients, weight decay) for each range.
  template <class Body>
  void for_each_range(const Body& body) const {
    for (const TrainedRange& range : ranges_)
      body(range, range.of(parameters_->flat_values()), range.of(parameters_->flat_gradients()),
           range.decays ? config_.weight_decay : 0);
  }
  const OptimizerConfig& config() const noexcept { return config_; }

 private:
  OptimizerConfig config_;
  nn::ParameterStore* parameters_;
  std::vector<TrainedRange> ranges_;
};

using Step = ops::DeviceArray<ops::UpdateStep>;

class AdamRule final : public FlatRule {
 public:
  AdamRule(const OptimizerConfig& config, nn::ParameterStore& parameters, tensor::DeviceMemory& memory,
           const std::vector<TrainedRange>& ranges)
      : FlatRule(config, parameters, ranges), first_(parameters, memory), second_(parameters, memory) {}

  void apply(tensor::Context& context, const Step& step) const override {
    for_each_range([&](const TrainedRange& range, const Tensor& values, const Tensor& gradients, double weight_decay) {
      ops::adam(context, {.parameters = values,
                          .gradients = gradients,
                          .first_moment = range.of(first_.flat()),
                          .second_moment = range.of(second_.flat()),
                          .beta1 = config().beta1,
                          .beta2 = config().beta2,
                          .epsilon = config().epsilon,
                          .weight_decay = weight_decay,
                          .step = step,
                          .coupled = config().kind == OptimizerKind::kAdam});
    });
  }
  std::vector<OptimizerState> states() const override {
    return {{"first_moment", first_.views()}, {"second_moment", second_.views()}};
  }

 private:
  FlatState first_, second_;
};

class LionRule final : public FlatRule {
 public:
  LionRule(const OptimizerConfig& config, nn::ParameterStore& parameters, tensor::DeviceMemory& memory,
           const std::vector<TrainedRange>& ranges)
      : FlatRule(config, parameters, ranges), first_(parameters, memory) {}

  void apply(tensor::Context& context, const Step& step) const override {
    for_each_range([&](const TrainedRange& range, const Tensor& values, const Tensor& gradients, double weight_decay) {
      ops::lion(context, {.parameters = values,
                          .gradients = gradients,
                          .first_moment = range.of(first_.flat()),
                          .beta1 = config().beta1,
                          .beta2 = config().beta2,
                          .weight_decay = weight_decay,
                          .step = step});
    });
  }
  std::vector<OptimizerState> states() const override { return {{"first_moment", first_.views()}}; }

 private:
  FlatState first_;
};

class SgdRule final : public FlatRule {
 public:
  SgdRule(const OptimizerConfig& config, nn::ParameterStore& parameters, tensor::DeviceMemory& memory,
          const std::vector<TrainedRange>& ranges)
      : FlatRule(config, parameters, ranges) {
    if (config.momentum > 0) first_.emplace(parameters, memory);
  }

  void apply(tensor::Context& context, const Step& step) const override {
    for_each_range([&](const TrainedRange& range, const Tensor& values, const Tensor& gradients, double weight_decay) {
      ops::sgd(context, {.parameters = values,
                         .gradients = gradients,
                         .first_moment = first_ ? range.of(first_->flat()) : Tensor{},
                         .momentum = config().momentum,
                         .nesterov = config().nesterov,
                         .weight_decay = weight_decay,
                         .step = step});
    });
  }
  std::vector<OptimizerState> states() const override {
    if (!first_) return {};
    return {{"first_moment", first_->views()}};
  }

 private:
  std::optional<FlatState> first_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_update_rule(const OptimizerConfig& config, nn::ParameterStore& parameters,
                                             tensor::DeviceMemory& memory, const std::vector<TrainedRange>& ranges) {
  switch (config.kind) {
    case OptimizerKind::kLion:
      return std::make_unique<LionRule>(config, parameters, memory, ranges);
    case OptimizerKind::kSgd:
      return std::make_unique<SgdRule>(config, parameters, memory, ranges);
    case OptimizerKind::kAdafactor:
      return make_adafactor(config, parameters, memory, decaying_parameters(config, parameters));
    default:
      return std::make_unique<AdamRule>(config, parameters, memory, ranges);
  }
}

}  // namespace dragoman::training
