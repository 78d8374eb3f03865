#pragma once

#include <memory>

#include <dragoman/ops/adam.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/ops/project_top_k.h>
#include <dragoman/ops/rows.h>
#include <dragoman/ops/softmax.h>
#include <dragoman/ops/softmax_cross_entropy.h>

/// The kernels, one per key of models/ops; each does what the comment of its argument struct there promises.
namespace dragoman::backend::cpu {

using tensor::Context;
using tensor::PackedWeight;
using tensor::Tensor;

void add(Context& context, const ops::AddArguments& arguments);
void add_row(Context& context, const ops::AddRowArguments& arguments);
void scale(Context& context, const ops::ScaleArguments& arguments);
void multiply(Context& context, const ops::MultiplyArguments& arguments);
void column_sum(Context& context, const ops::ColumnSumArguments& arguments);
void activation(Context& context, const ops::ActivationArguments& arguments);
void activation_backward(Context& context, const ops::ActivationBackwardArguments& arguments);
void dropout(Context& context, const ops::DropoutArguments& arguments);
void matmul(Context& context, const ops::MatMulArguments& arguments);
std::unique_ptr<PackedWeight> pack_weight(Context& context, const Tensor& weight, tensor::ComputeType type);
void linear(Context& context, const ops::LinearArguments& arguments);
void layer_norm(Context& context, const ops::LayerNormArguments& arguments);
void layer_norm_backward(Context& context, const ops::LayerNormBackwardArguments& arguments);
void residual_layer_norm(Context& context, const ops::ResidualLayerNormArguments& arguments);
void residual_layer_norm_backward(Context& context, const ops::ResidualLayerNormBackwardArguments& arguments);
void softmax(Context& context, const ops::SoftmaxArguments& arguments);
void softmax_backward(Context& context, const ops::SoftmaxBackwardArguments& arguments);
void cross_entropy_rows(Context& context, const ops::CrossEntropyRowsArguments& arguments);
void embedding(Context& context, const ops::EmbeddingArguments& arguments);
void embedding_backward(Context& context, const ops::EmbeddingBackwardArguments& arguments);
void attention(Context& context, const ops::AttentionArguments& arguments);
void attention_backward(Context& context, const ops::AttentionBackwardArguments& arguments);
void cached_attention(Context& context, const ops::CachedAttentionArguments& arguments);
void project_top_k(Context& context, const ops::ProjectTopKArguments& arguments);
void gather_rows(Context& context, const ops::GatherRowsArguments& arguments);
void scatter_rows(Context& context, const ops::ScatterRowsArguments& arguments);
void adam(Context& context, const ops::AdamArguments& arguments);
void moving_average(Context& context, const ops::MovingAverageArguments& arguments);
void sum_of_squares(Context& context, const ops::SumOfSquaresArguments& arguments);

}  // namespace dragoman::backend::cpu
