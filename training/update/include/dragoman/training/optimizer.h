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
  tensor::DeviceMemory* memory = &tensor::host_memory();  ///< where it is
};

/// One of the things that an optimiser keeps for each parameter: a file of a checkpoint.
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

/// An optimiser (OptimizerConfig::kind) over the parameters of a ParameterStore, and, if asked, an exponential moving
/// average of the parameters; those that are frozen by then stay as they are, and so does their part of the average.
/// Gradients must be attached. Holds the moments, in the parameters' type. The store must outlive it.
class Optimizer {
 public:
  /// `ema_decay` 0: no average. Error{kBadInput} for a pattern of OptimizerConfig::no_decay that stands for nothing.
  Optimizer(nn::ParameterStore& parameters, tensor::DeviceMemory& memory, const OptimizerConfig& config,
            double clip_norm, double ema_decay);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) = delete;

  /// Whether all parameters are finite numbers.
  bool parameters_are_finite(tensor::Context& context) const;

  struct Update {
    std::int64_t update = 1;  ///< counts from 1
    double learning_rate = 0;
    /// Each gradient is cut to [-clip_value, clip_value] before all else; 0: none is.
    double clip_value = 0;
    /// Gradients are so many times what they are meant to be.
    std::int64_t loss_scale = 1;
    /// The losses of the gradients. An update whose losses are not finite is skipped.
    ops::DeviceArray<ops::LossRecord> losses{};
    /// Whether the outcome of the previous update has not been read. If that one was skipped, so is this one.
    bool depends_on_previous = false;
  };
  /// Runs one Context::step(), which does not wait for the device: one step with gradients scaled so that their norm is
  /// at most clip_norm. The average then takes average = d * average + (1 - d) * parameters with
  /// d = min(decay, (1 + update) / (10 + update)), so that it forgets the start fast. If losses or gradients are not
  /// finite, the update is skipped: parameters, moments and average stay as they are.
  void apply(tensor::Context& context, const Update& update);
  /// The update that was applied last.
  PendingUpdate last() const;

  /// Moments begin with zeros after this many updates, so their steps are counted from there: 0 unless a fork changed
  /// the optimiser.
  void begin_after(std::int64_t update) noexcept { begun_after_ = update; }
  std::int64_t begun_after() const noexcept { return begun_after_; }

  /// Begins the average with the parameters as they are.
  void start_average();
  bool has_average() const noexcept { return !average_.empty(); }
  /// The averaged parameters [1, n], laid out like ParameterStore::flat_values(); without an average the parameters
  /// themselves.
  tensor::Tensor averaged_values() const noexcept;
  /// Views of what the kind of optimiser keeps, for checkpoints.
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
  std::int64_t generation_ = 0;  ///< of all that is kept
  tensor::Tensor average_;
};

/// The parameters by name.
std::vector<NamedTensor> parameter_views(const nn::ParameterStore& parameters);

}  // namespace dragoman::training
