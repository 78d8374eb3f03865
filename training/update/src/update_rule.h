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

/// How parameters follow from gradients, and the moments that this needs: one implementation for each OptimizerKind.
class UpdateRule {
 public:
  UpdateRule() = default;
  UpdateRule(const UpdateRule&) = delete;
  UpdateRule& operator=(const UpdateRule&) = delete;
  virtual ~UpdateRule() = default;

  /// Runs the ops of one update, within a step.
  virtual void apply(tensor::Context& context, const ops::DeviceArray<ops::UpdateStep>& step) const = 0;
  /// Everything that it keeps from one update to the next; nothing for a rule without moments.
  virtual std::vector<OptimizerState> states() const = 0;
};

/// Views of a buffer [1, n] that is laid out as the parameters are, by their names.
std::vector<NamedTensor> views_of(const nn::ParameterStore& parameters, const tensor::Tensor& flat);

/// A buffer laid out as the parameters of a store are, of zeros.
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

/// `ranges` cover what is trained. Both references must outlive the rule.
std::unique_ptr<UpdateRule> make_update_rule(const OptimizerConfig& config, nn::ParameterStore& parameters,
                                             tensor::DeviceMemory& memory, const std::vector<TrainedRange>& ranges);
/// That of Adafactor, which goes by whole parameters; `decays` says whose weights decay.
std::unique_ptr<UpdateRule> make_adafactor(const OptimizerConfig& config, nn::ParameterStore& parameters,
                                           tensor::DeviceMemory& memory, const std::vector<bool>& decays);

/// Of each parameter, whether its weights decay (OptimizerConfig::no_decay). Error{kBadInput} for a pattern that
/// stands for none.
std::vector<bool> decaying_parameters(const OptimizerConfig& config, const nn::ParameterStore& parameters);
/// The parts of the flat buffers that are trained, as long as they can be.
std::vector<TrainedRange> trained_ranges(const nn::ParameterStore& parameters, const std::vector<bool>& decays);

}  // namespace dragoman::training
