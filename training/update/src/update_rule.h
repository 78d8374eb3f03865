#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/ops/adam.h>
#include <dragoman/training/optimizer.h>

namespace dragoman::training {

/// Columns [begin, end) of the flat buffers of a ParameterStore, all of which are trained, and whether their weights
/// decay.
struct TrainedRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool decays = true;
  tensor::Tensor of(const tensor::Tensor& flat) const { return flat.col_range(begin, end); }
};

/// How parameters are updated from gradients, and the moments for this: one implementation per OptimizerKind.
class UpdateRule {
 public:
  UpdateRule() = default;
  UpdateRule(const UpdateRule&) = delete;
  UpdateRule& operator=(const UpdateRule&) = delete;
  virtual ~UpdateRule() = default;

  /// Runs the ops of one update, within a step.
  virtual void apply(tensor::Context& context, const ops::DeviceArray<ops::UpdateStep>& step) const = 0;
  /// Returns the state that the rule keeps between updates; empty for a rule without moments.
  virtual std::vector<OptimizerState> states() const = 0;
};

/// Returns views of a buffer [1, n] in the layout of the parameters, by their names.
std::vector<NamedTensor> views_of(const nn::ParameterStore& parameters, const tensor::Tensor& flat);

/// A buffer of zeros in the layout of a store's parameters.
class FlatState {
 public:
  FlatState(const nn::ParameterStore& parameters, tensor::DeviceMemory& memory);
  const tensor::Tensor& flat() const noexcept { return flat_; }
  std::vector<NamedTensor> views() const { return views_of(*parameters_, flat_); }

 private:
  const nn::ParameterStore* parameters_;
  tensor::Buffer buffer_;
  tensor::Tensor flat_;
};

/// Creates a rule. `ranges` cover the trained parameters. Both references must outlive the rule.
std::unique_ptr<UpdateRule> make_update_rule(const OptimizerConfig& config, nn::ParameterStore& parameters,
                                             tensor::DeviceMemory& memory, const std::vector<TrainedRange>& ranges);
/// Creates Adafactor's rule, which processes whole parameters. `decays`: which parameters decay.
std::unique_ptr<UpdateRule> make_adafactor(const OptimizerConfig& config, nn::ParameterStore& parameters,
                                           tensor::DeviceMemory& memory, const std::vector<bool>& decays);

/// Returns for each parameter whether its weights decay (OptimizerConfig::no_decay). Error{kBadInput} for a pattern
/// that matches none.
std::vector<bool> decaying_parameters(const OptimizerConfig& config, const nn::ParameterStore& parameters);
/// Returns the trained parts of the flat buffers, as long as possible.
std::vector<TrainedRange> trained_ranges(const nn::ParameterStore& parameters, const std::vector<bool>& decays);

}  // namespace dragoman::training
