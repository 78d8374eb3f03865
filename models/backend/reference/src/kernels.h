#pragma once

#include <memory>
#include <span>

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

// One function per kernel key; the contracts stand in the op headers.
namespace dragoman::backend::reference {

using tensor::Context;
using tensor::Tensor;

void add(Context& context, const ops::AddArguments& arguments);
void scale(Context& context, const ops::ScaleArguments& arguments);
void multiply(Context& context, const ops::MultiplyArguments& arguments);
void add_row(Context& context, const ops::AddRowArguments& arguments);
void column_sum(Context& context, const ops::ColumnSumArguments& arguments);
void activation(Context& context, const ops::ActivationArguments& arguments);
void activation_backward(Context& context, const ops::ActivationBackwardArguments& arguments);
void dropout(Context& context, const ops::DropoutArguments& arguments);
void matmul(Context& context, const ops::MatMulArguments& arguments);
std::unique_ptr<tensor::PackedWeight> pack_weight(Context& context, const Tensor& weight, tensor::ComputeType type);
void linear(Context& context, const ops::LinearArguments& arguments);
void layer_norm(Context& context, const ops::LayerNormArguments& arguments);
void layer_norm_backward(Context& context, const ops::LayerNormBackwardArguments& arguments);
void softmax(Context& context, const ops::SoftmaxArguments& arguments);
void softmax_backward(Context& context, const ops::SoftmaxBackwardArguments& arguments);
void embedding(Context& context, const ops::EmbeddingArguments& arguments);
void embedding_backward(Context& context, const ops::EmbeddingBackwardArguments& arguments);
void attention(Context& context, const ops::AttentionArguments& arguments);
void attention_backward(Context& context, const ops::AttentionBackwardArguments& arguments);
void cached_attention(Context& context, const ops::CachedAttentionArguments& arguments);
void cross_entropy_rows(Context& context, const ops::CrossEntropyRowsArguments& arguments);
void project_top_k(Context& context, const ops::ProjectTopKArguments& arguments);
void gather_rows(Context& context, const ops::GatherRowsArguments& arguments);
void scatter_rows(Context& context, const ops::ScatterRowsArguments& arguments);
void adam(Context& context, const ops::AdamArguments& arguments);
void moving_average(Context& context, const ops::MovingAverageArguments& arguments);
void sum_of_squares(Context& context, const ops::SumOfSquaresArguments& arguments);

/// activation(x), one number.
double activate(ops::Activation activation, double x);

/// What the element of this index is multiplied by under dropout: 0, or the factor that keeps the expectation.
double dropout_factor(double rate, const tensor::RandomState& random, std::int64_t element);

/// values - log(sum of exp(values)), in place. If nothing lies above -infinity the values stay as they are.
void log_softmax_in_place(std::span<double> values);

/// weight(n, k) of a plain or packed weight.
class WeightReader {
 public:
  WeightReader(const Tensor& plain, const tensor::PackedWeight* packed, std::string_view op);
  double operator()(std::int64_t n, std::int64_t k) const { return data_[n * stride_ + k]; }
  std::int64_t rows() const { return rows_; }

 private:
  const double* data_;
  std::int64_t rows_;
  std::int64_t stride_;
};

}  // namespace dragoman::backend::reference
