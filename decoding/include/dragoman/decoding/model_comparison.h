#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::decoding {

/// How far numbers are from those of a reference.
struct StateError {
  double relative = 0;  ///< |x - reference| / |reference|, Euclidean norms over all tokens
  double cosine = 1;    ///< the mean over tokens of that between x and the reference
  double largest = 0;   ///< the largest |x - reference| of one number, in units of the reference's root mean square
};

struct LayerError {
  bool of_decoder = false;
  /// 0: the embedded tokens; i: what layer i hands on to the next; kFinal: what the stack hands on.
  int layer = 0;
  StateError error{};

  static constexpr int kFinal = -1;
};

/// Of what may follow each decoder input; natural logarithms.
struct PredictionError {
  double kl_divergence = 0;          ///< mean over tokens of KL(reference || x)
  double largest_kl_divergence = 0;  ///< of one token
  double changed_best = 0;           ///< the share of tokens for which another one is the most probable
  double cross_entropy = 0;          ///< mean over target tokens of -log p
  double reference_cross_entropy = 0;
};

struct ModelComparison {
  std::vector<LayerError> layers{};  ///< in the order in which they are computed: encoder, decoder
  PredictionError predictions{};
};

/// Says, layer by layer, how far one computation of a model is from another: in other number types, on other devices,
/// or with rounded weights. All read the same sentences by teacher forcing, so an error is that of what the layers
/// before hand on, and of the layer. Of any kind of model: layers are what nn::Encoding and nn::Decoding show.
class ModelComparator {
 public:
  struct Computation {
    const nn::Seq2SeqModel* model = nullptr;
    tensor::Context* context = nullptr;  ///< its own
  };

  /// All must outlive the comparator. Error{kInvalidArgument} where vocabularies or special tokens are not the same.
  ModelComparator(Computation reference, std::vector<Computation> others);
  ~ModelComparator();
  ModelComparator(ModelComparator&&) noexcept;
  ModelComparator& operator=(ModelComparator&&) noexcept;

  /// Reads more sentences: sources with their closing end, targets without. Whole distributions of `piece_tokens` are
  /// in memory at a time, for the reference and one other. Throws as score(), and Error{kInvalidArgument} where layers
  /// are not as many or not as wide. Frees the contexts' step memory.
  void read(const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets, std::int64_t piece_tokens = 512);

  std::int64_t source_tokens() const noexcept;
  std::int64_t target_tokens() const noexcept;
  /// Of all that was read, one for each of the others.
  std::vector<ModelComparison> result() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::decoding
