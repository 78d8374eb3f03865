#include "update_rule.h"

#include <dragoman/ops/update_rules.h>

namespace dragoman::training {
namespace {

using tensor::Tensor;

/// Updates one parameter after the other, because the state of a matrix is one value per row and one per column.
class AdafactorRule final : public UpdateRule {
 public:
  AdafactorRule(const OptimizerConfig& config, nn::ParameterStore& parameters, tensor::DeviceMemory& memory,
                const std::vector<bool>& decays)
      : config_(config) {
    std::int64_t count = 0;
    for (const nn::Parameter& parameter : parameters.all()) count += numbers_of(parameter);
    Tensor flat = parameters.flat_values();
    flat.cols = flat.stride = count;
    const auto bytes = static_cast<std::size_t>(count) * tensor::size_of(flat.dtype);
    buffer_ = tensor::Buffer(memory, bytes);
    memory.clear(buffer_.data(), bytes);
    flat.data = buffer_.data();
    std::int64_t used = 0;
    const auto take = [&](std::int64_t cols) {
      used += cols;
      return flat.col_range(used - cols, used);
    };
    std::size_t number = 0;
    for (const nn::Parameter& parameter : parameters.all()) {
      Moments moments{.parameter = &parameter, .decays = decays[number++]};
      if (is_factored(parameter)) {
        moments.row = take(parameter.rows);
        moments.column = take(parameter.cols);
      } else {
        moments.second = take(parameter.rows * parameter.cols);
        moments.second.rows = parameter.rows;
        moments.second.cols = moments.second.stride = parameter.cols;
      }
      moments_.push_back(moments);
    }
  }

  void apply(tensor::Context& context, const ops::DeviceArray<ops::UpdateStep>& step) const override {
    for (const Moments& moments : moments_) {
      if (moments.parameter->frozen) continue;
      ops::adafactor(context, {.parameters = moments.parameter->value,
                               .gradients = moments.parameter->gradient->value,
                               .row_moment = moments.row,
                               .column_moment = moments.column,
                               .second_moment = moments.second,
                               .decay_rate = config_.decay_rate,
                               .square_epsilon = config_.square_epsilon,
                               .scale_epsilon = config_.scale_epsilon,
                               .clip_threshold = config_.clip_threshold,
                               .scale_parameter = config_.scale_parameter,
                               .weight_decay = moments.decays ? config_.weight_decay : 0,
                               .step = step});
    }
  }

  std::vector<OptimizerState> states() const override {
    std::vector<OptimizerState> all{{"row_moment", {}}, {"column_moment", {}}, {"second_moment", {}}};
    for (const Moments& moments : moments_) {
      const std::string& name = moments.parameter->name;
      if (moments.second.empty()) {
        all[0].tensors.push_back({name, moments.row, &buffer_.memory()});
        all[1].tensors.push_back({name, moments.column, &buffer_.memory()});
      } else {
        all[2].tensors.push_back({name, moments.second, &buffer_.memory()});
      }
    }
    std::erase_if(all, [](const OptimizerState& state) { return state.tensors.empty(); });
    return all;
  }

 private:
  struct Moments {
    const nn::Parameter* parameter = nullptr;
    bool decays = true;
    Tensor row{}, column{}, second{};
  };

  /// Factoring is not worthwhile for vectors.
  static bool is_factored(const nn::Parameter& parameter) { return parameter.rows > 1 && parameter.cols > 1; }
  static std::int64_t numbers_of(const nn::Parameter& parameter) {
    return is_factored(parameter) ? parameter.rows + parameter.cols : parameter.rows * parameter.cols;
  }

  OptimizerConfig config_;
  tensor::Buffer buffer_;
  std::vector<Moments> moments_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_adafactor(const OptimizerConfig& config, nn::ParameterStore& parameters,
                                           tensor::DeviceMemory& memory, const std::vector<bool>& decays) {
  return std::make_unique<AdafactorRule>(config, parameters, memory, decays);
}

}  // namespace dragoman::training
