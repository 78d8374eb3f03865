#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::decoding {

/// Differences between values and their reference.
struct StateError {
  double relative = 0;  ///< |x - reference| / |reference|, Euclidean norms over all tokens
  double cosine = 1;    ///< the mean over tokens of the cosine between x and the reference
  double largest = 0;   ///< the largest |x - reference| of one element, divided by the root mean square of the
                        ///< reference
};

struct LayerError {
  bool of_decoder = false;
  /// 0: the token embeddings; i: the output of layer i; kFinal: the output of the stack.
  int layer = 0;
  StateError error{};

  static constexpr int kFinal = -1;
};

/// Errors of the predictions after each decoder input; natural logarithms.
struct PredictionError {
  double kl_divergence = 0;          ///< mean over tokens of KL(reference || x)
  double largest_kl_divergence = 0;  ///< the maximum over tokens
  double changed_best = 0;           ///< the share of tokens whose most probable successor changed
  double cross_entropy = 0;          ///< mean over target tokens of -log p
  double reference_cross_entropy = 0;
};

struct ModelComparison {
  std::vector<LayerError> layers{};  ///< in the order of computation: encoder, then decoder
  PredictionError predictions{};
};

/// Measures, layer by layer, how far computations of a model are from a reference computation: in other number types,
/// on other devices, or with rounded weights. All computations read the same sentences by teacher forcing, so the error
/// of a layer includes the errors of the layers before it. Supports all kinds of models: layers are those that
/// nn::Encoding and nn::Decoding expose.
///
///     double divergence(ModelComparator::Computation reference, ModelComparator::Computation other,
///                       const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets) {
///       ModelComparator comparator(reference, {other});
///       comparator.read(sources, targets);
///       return comparator.result().front().predictions.kl_divergence;
///     }
///
/// Not thread-safe. pipeline::ComputeComparer compares the number types of one model folder.
class ModelComparator {
 public:
  struct Computation {
    const nn::Seq2SeqModel* model = nullptr;
    tensor::Context* context = nullptr;  ///< not shared with other computations
  };

  /// All arguments must outlive the comparator. Error{kInvalidArgument} if vocabularies or special tokens differ.
  ModelComparator(Computation reference, std::vector<Computation> others);
  ~ModelComparator();
  ModelComparator(ModelComparator&&) noexcept;
  ModelComparator& operator=(ModelComparator&&) noexcept;

  /// Reads more sentences. Sources include the closing end, targets exclude it. At any time, memory holds the
  /// distributions of `piece_tokens` tokens for the reference and one other computation. Throws as score(), and
  /// Error{kInvalidArgument} if the numbers or widths of layers differ. Frees the contexts' step memory.
  void read(const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets, std::int64_t piece_tokens = 512);

  std::int64_t source_tokens() const noexcept;
  std::int64_t target_tokens() const noexcept;
  /// Returns the comparison over everything that was read, one for each of the other computations.
  std::vector<ModelComparison> result() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::decoding
