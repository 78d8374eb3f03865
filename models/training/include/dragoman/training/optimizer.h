#pragma once

#include <cstdint>
#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/tensor/arena.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

struct NamedTensor {
  std::string name;
  tensor::Tensor tensor;
  tensor::DeviceMemory* memory = &tensor::host_memory();  ///< where it is
};

/// Adam over the flat buffers of a ParameterStore, and, if asked, an exponential moving average of the parameters;
/// those that are frozen by then stay as they are, and so does their part of the average. Gradients must be attached.
/// Holds the moments, in the parameters' type. The store must outlive it.
class Optimizer {
 public:
  /// `ema_decay` 0: no average.
  Optimizer(nn::ParameterStore& parameters, tensor::DeviceMemory& memory, const OptimizerConfig& config,
            double clip_norm, double ema_decay);

  /// Whether all parameters are finite numbers.
  bool parameters_are_finite(tensor::Context& context) const;
  /// The global norm of the gradients.
  double gradient_norm(tensor::Context& context) const;
  /// Runs one Context::step(): one Adam step with gradients scaled so that their norm is at most clip_norm; `update`
  /// counts from 1. The average then takes average = d * average + (1 - d) * parameters with d = min(decay, (1 +
  /// update) / (10 + update)), so that it forgets the start fast.
  void apply(tensor::Context& context, std::int64_t update, double learning_rate, double gradient_norm);

  /// Begins the average with the parameters as they are.
  void start_average();
  bool has_average() const noexcept { return !average_.empty(); }
  /// The averaged parameters [1, n], laid out like ParameterStore::flat_values(); without an average the parameters
  /// themselves.
  tensor::Tensor averaged_values() const noexcept;
  /// Views of the state by parameter name, for checkpoints.
  std::vector<NamedTensor> first_moments() const { return views(first_moment_); }
  std::vector<NamedTensor> second_moments() const { return views(second_moment_); }
  std::vector<NamedTensor> averages() const { return views(average_); }

 private:
  /// Columns [begin, end) of the flat buffers.
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    tensor::Tensor of(const tensor::Tensor& flat) const { return flat.col_range(begin, end); }
  };
  std::vector<Range> trained_ranges() const;
  tensor::Tensor make_state(tensor::Buffer& buffer, tensor::DeviceMemory& memory) const;
  std::vector<NamedTensor> views(const tensor::Tensor& flat) const;

  nn::ParameterStore* parameters_;
  std::vector<Range> trained_;  ///< all of the buffers, but for what is frozen
  OptimizerConfig config_;
  double clip_norm_;
  double ema_decay_;
  tensor::Buffer first_buffer_, second_buffer_, average_buffer_;
  std::int64_t generation_ = 0;  ///< of these
  tensor::Tensor first_moment_, second_moment_, average_;
};

/// The parameters by name.
std::vector<NamedTensor> parameter_views(const nn::ParameterStore& parameters);

}  // namespace dragoman::training
