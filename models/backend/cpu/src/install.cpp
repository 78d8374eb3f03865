#include "dragoman/backend_cpu/install.h"

#include "kernels.h"

namespace dragoman::backend::cpu {

void install_kernels(tensor::KernelTable& table) {
  table.set(ops::kAdd, add);
  table.set(ops::kAddRow, add_row);
  table.set(ops::kScale, scale);
  table.set(ops::kMultiply, multiply);
  table.set(ops::kColumnSum, column_sum);
  table.set(ops::kActivation, activation);
  table.set(ops::kActivationBackward, activation_backward);
  table.set(ops::kDropout, dropout);
  table.set(ops::kMatMul, matmul);
  table.set(ops::kPackWeight, pack_weight);
  table.set(ops::kLinear, linear);
  table.set(ops::kLayerNorm, layer_norm);
  table.set(ops::kLayerNormBackward, layer_norm_backward);
  table.set(ops::kResidualLayerNorm, residual_layer_norm);
  table.set(ops::kResidualLayerNormBackward, residual_layer_norm_backward);
  table.set(ops::kSoftmax, softmax);
  table.set(ops::kSoftmaxBackward, softmax_backward);
  table.set(ops::kCrossEntropyRows, cross_entropy_rows);
  table.set(ops::kEmbedding, embedding);
  table.set(ops::kEmbeddingBackward, embedding_backward);
  table.set(ops::kAttention, attention);
  table.set(ops::kAttentionBackward, attention_backward);
  table.set(ops::kCachedAttention, cached_attention);
  table.set(ops::kProjectTopK, project_top_k);
  table.set(ops::kGatherRows, gather_rows);
  table.set(ops::kScatterRows, scatter_rows);
  table.set(ops::kAdam, adam);
  table.set(ops::kMovingAverage, moving_average);
  table.set(ops::kSumOfSquares, sum_of_squares);
}

}  // namespace dragoman::backend::cpu
