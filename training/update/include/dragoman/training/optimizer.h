#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/ops/types.h>
#include <dragoman/tensor/arena.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

struct NamedTensor {
  std::string name;
  tensor::Tensor tensor;
  tensor::DeviceMemory* memory = &tensor::host_memory();  ///< the memory that contains it
};

/// A state that an optimiser keeps for each parameter, which is a file of a checkpoint.
struct OptimizerState {
  std::string name;  ///< of the file, such as first_moment
  std::vector<NamedTensor> tensors;
};

class UpdateRule;

/// An update that the device may not have computed yet. Belongs to the thread that applied it.
class PendingUpdate {
 public:
  explicit PendingUpdate(std::unique_ptr<tensor::PendingRead> record) : record_(std::move(record)) {}
  /// Waits for the outcome of the update. If its step was skipped, nothing has changed.
  ops::UpdateRecord wait() const;

 private:
  std::unique_ptr<tensor::PendingRead> record_;
};

/// An optimiser (OptimizerConfig::kind) over the parameters of a ParameterStore and, if configured, an exponential
/// moving average of the parameters. Parameters that are frozen at construction do not change, nor does their part of
/// the average. Gradients must be attached. The optimiser owns the moments, in the parameters' type. The store must
/// outlive it.
///
///     double norm_of_update(tensor::Context& context, Optimizer& optimizer, std::int64_t number) {
///       optimizer.apply(context, {.update = number, .learning_rate = 5e-4});
///       return optimizer.last().wait().gradient_norm;
///     }
///
/// Belongs to the thread of the context.
class Optimizer {
 public:
  /// `ema_decay` 0: no average. Error{kBadInput} for a pattern of OptimizerConfig::no_decay that matches nothing.
  Optimizer(nn::ParameterStore& parameters, tensor::DeviceMemory& memory, const OptimizerConfig& config,
            double clip_norm, double ema_decay);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) = delete;

  /// Returns whether all parameters are finite.
  bool parameters_are_finite(tensor::Context& context) const;

  struct Update {
    std::int64_t update = 1;  ///< counts from 1
    double learning_rate = 0;
    /// Each gradient is clipped to [-clip_value, clip_value] first. 0: no clipping.
    double clip_value = 0;
    /// The factor by which gradients are scaled.
    std::int64_t loss_scale = 1;
    /// The losses of the gradients. An update whose losses are not finite is skipped.
    ops::DeviceArray<ops::LossRecord> losses{};
    /// Whether the outcome of the previous update has not been read. If that update was skipped, this one is skipped
    /// too.
    bool depends_on_previous = false;
  };
  /// Runs one Context::step() without waiting for the device: one update with gradients scaled so that their norm is at
  /// most clip_norm. Then average = d * average + (1 - d) * parameters with d = min(decay, (1 + update) / (10 +
  /// update)), so that the average forgets the start quickly. If losses or gradients are not finite, the update is
  /// skipped: parameters, moments and average are unchanged.
  void apply(tensor::Context& context, const Update& update);
  /// Returns the update that was applied last.
  PendingUpdate last() const;

  /// Sets the update after which the moments started with zeros; steps are counted from it. 0 unless a fork changed the
  /// optimiser.
  void begin_after(std::int64_t update) noexcept { begun_after_ = update; }
  std::int64_t begun_after() const noexcept { return begun_after_; }

  /// Initialises the average with the current parameters.
  void start_average();
  bool has_average() const noexcept { return !average_.empty(); }
  /// Returns the averaged parameters [1, n] in the layout of ParameterStore::flat_values(). Without an average: the
  /// parameters themselves.
  tensor::Tensor averaged_values() const noexcept;
  /// Return views of the optimiser's states and of the average, for checkpoints.
  std::vector<OptimizerState> states() const;
  std::vector<NamedTensor> averages() const;

 private:
  nn::ParameterStore* parameters_;
  OptimizerConfig config_;
  double clip_norm_;
  double ema_decay_;
  std::int64_t begun_after_ = 0;
  std::unique_ptr<UpdateRule> rule_;
  std::vector<std::pair<std::int64_t, std::int64_t>> averaged_;  ///< columns of the flat buffers
  tensor::Buffer record_;                                        ///< the UpdateRecord of the last update
  tensor::Buffer average_buffer_;
  std::int64_t generation_ = 0;  ///< of all memory above
  tensor::Tensor average_;
};

/// Returns the parameters by name.
std::vector<NamedTensor> parameter_views(const nn::ParameterStore& parameters);

}  // namespace dragoman::training
