#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

/// The suffixes of the names of adapters' parameters, after the name of the weight.
inline constexpr std::string_view kLoraA = ".lora_A";
inline constexpr std::string_view kLoraB = ".lora_B";

/// Low-rank adapters (Hu et al. 2022, LoRA) of a model's weights. Instead of a weight W [outputs, inputs], two matrices
/// are trained, A [rank, inputs] and B [outputs, rank], and the model computes with W + alpha / rank * B A. A weight
/// that combines several projections has one A and one B per projection, stacked vertically.
///
/// The sum is written to the model's weight after each update. The model and its kernels are therefore unaware of
/// adapters, and a pass costs the same as without them. The gradients of A and B follow from the gradient of the
/// weight: with s = alpha / rank, dA = s B^T dW and dB = s dW A^T. This is equivalent to computing x W^T + s (x A^T)
/// B^T.
///
/// Not thread-safe.
class LowRankAdapters {
 public:
  /// Freezes all parameters that are not adapted. `model` has memory and must outlive the object. Error{kBadInput} for
  /// a pattern that matches no weight of a linear layer.
  LowRankAdapters(const LoraConfig& config, nn::ParameterStore& model, tensor::DeviceMemory& memory);

  /// Returns the trained parameters: `NAME.lora_A` and `NAME.lora_B` of each adapted weight NAME.
  nn::ParameterStore& parameters() noexcept { return adapters_; }
  const nn::ParameterStore& parameters() const noexcept { return adapters_; }

  /// Returns a store like parameters(), with separate memory whose values are not set.
  std::unique_ptr<nn::ParameterStore> make_store() const;

  /// Takes the current weights of the model as W.
  void keep_base();
  /// Writes the weights with the current adapters to the model.
  void merge(tensor::Context& context) { merge(context, adapters_, *model_); }
  /// Runs one Context::step() that writes the adapted weights to `to`, the parameters of an equal model. `adapters` is
  /// a store like parameters().
  void merge(tensor::Context& context, const nn::ParameterStore& adapters, nn::ParameterStore& to) const;
  /// Runs one Context::step() that computes the adapters' gradients from the gradients of the model.
  void make_gradients(tensor::Context& context);

 private:
  struct Adapted {
    nn::Parameter* weight;
    nn::Parameter* a;  ///< [projections * rank, inputs]
    nn::Parameter* b;  ///< [outputs, rank]
    nn::Parameter* base;
  };

  double scale_;
  nn::ParameterStore* model_;
  nn::ParameterStore adapters_;
  nn::ParameterStore base_;
  std::vector<Adapted> adapted_;
};

/// Returns the weights to adapt: the linear layers' weights that the patterns name, or all except the projection to the
/// vocabulary.
std::vector<nn::Parameter*> adapted_weights(const LoraConfig& config, nn::ParameterStore& model);

}  // namespace dragoman::training
