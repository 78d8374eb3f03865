#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

/// What the names of adapters' parameters end in, behind that of the weight.
inline constexpr std::string_view kLoraA = ".lora_A";
inline constexpr std::string_view kLoraB = ".lora_B";

/// Low-rank adapters (Hu et al. 2022, LoRA) of a model's weights: in place of a weight W [outputs, inputs] two matrices
/// are trained, A [rank, inputs] and B [outputs, rank], and the model computes with W + alpha / rank * B A. A weight
/// that stands for several projections side by side has an A and a B for each, below one another.
///
/// The sum is written into the model's weight after each update, so the model and its kernels know nothing of adapters
/// and a pass costs what it costs without; the gradients of A and B follow from that of the weight: with s = alpha /
/// rank, dA = s B^T dW and dB = s dW A^T. That is the same as computing x W^T + s (x A^T) B^T.
///
/// Belongs to one thread.
class LowRankAdapters {
 public:
  /// Freezes what is not adapted. `model` has memory and must outlive the object. Error{kBadInput} for a pattern that
  /// matches no weight of a linear layer.
  LowRankAdapters(const LoraConfig& config, nn::ParameterStore& model, tensor::DeviceMemory& memory);

  /// What is trained: `NAME.lora_A` and `NAME.lora_B` of each adapted weight NAME.
  nn::ParameterStore& parameters() noexcept { return adapters_; }
  const nn::ParameterStore& parameters() const noexcept { return adapters_; }

  /// A store like parameters(), with memory of its own that is not set.
  std::unique_ptr<nn::ParameterStore> make_store() const;

  /// Takes the model's weights, as they are now, for W.
  void keep_base();
  /// Gives the model its weights with the adapters as they are.
  void merge(tensor::Context& context) { merge(context, adapters_, *model_); }
  /// Runs one Context::step() that gives the adapted weights of `to`, the parameters of a model like this one, their
  /// values with `adapters`, a store like parameters().
  void merge(tensor::Context& context, const nn::ParameterStore& adapters, nn::ParameterStore& to) const;
  /// Runs one Context::step() that makes the adapters' gradients from those of the model.
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

/// The weights that adapters are made for: those of linear layers that the patterns name, or all but the projection to
/// the vocabulary.
std::vector<nn::Parameter*> adapted_weights(const LoraConfig& config, nn::ParameterStore& model);

}  // namespace dragoman::training
