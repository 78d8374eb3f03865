#include "dragoman/ops/work.h"

#include <initializer_list>

#include <dragoman/tensor/host_view.h>

namespace dragoman::ops {
namespace {

double traffic_of(const Tensor& tensor) {
  return tensor.empty() ? 0 : static_cast<double>(tensor::bytes_of(tensor));
}

double traffic_of(std::initializer_list<Tensor> tensors) {
  double sum = 0;
  for (const Tensor& tensor : tensors) sum += traffic_of(tensor);
  return sum;
}

/// What accumulates is read, too.
double traffic_of(const GradientTarget& target) {
  return target.accumulate ? 2 * traffic_of(target.value) : traffic_of(target.value);
}

double traffic_of(const WeightShape& weight) {
  const double size = tensor::is_int8(weight.type) ? 1 : weight.type == ComputeType::kF32 ? 4 : 2;
  return size * static_cast<double>(weight.outputs) * static_cast<double>(weight.inputs);
}

/// The weight of a call, packed or plain.
WeightShape shape_of(const PackedWeight* packed, const Tensor& plain, ComputeType type) {
  if (packed != nullptr) return {packed->rows(), packed->cols(), packed->type()};
  return {plain.rows, plain.cols, type};
}

double weight_bytes(const PackedWeight* packed, const Tensor& plain, ComputeType type) {
  return packed != nullptr ? traffic_of(shape_of(packed, plain, type)) : traffic_of(plain);
}

double product_count(std::int64_t rows, const WeightShape& weight) {
  return static_cast<double>(rows) * static_cast<double>(weight.outputs) * static_cast<double>(weight.inputs);
}

/// Pairs of a query and a key, of all sequences; those that causality forbids are not computed.
double pairs_of(const AttentionArguments& call) {
  double pairs = 0;
  for (std::int64_t b = 0; b + 1 < call.q_offsets.count; ++b) {
    const double queries = call.q_offsets[b + 1] - call.q_offsets[b];
    const double keys = call.k_offsets[b + 1] - call.k_offsets[b];
    pairs += call.causal ? queries * (keys - queries) + queries * (queries + 1) / 2 : queries * keys;
  }
  return pairs;
}

}  // namespace

Work work_of(const AddArguments& call) {
  return {0, traffic_of({call.a, call.b, call.y})};
}

Work work_of(const AddRowArguments& call) {
  return {0, traffic_of({call.x, call.row, call.y})};
}

Work work_of(const ScaleArguments& call) {
  return {0, traffic_of(call.x) + traffic_of(GradientTarget{call.y, call.accumulate})};
}

Work work_of(const MultiplyArguments& call) {
  return {0, traffic_of({call.a, call.b}) + traffic_of(GradientTarget{call.y, call.accumulate})};
}

Work work_of(const ColumnSumArguments& call) {
  return {0, traffic_of(call.x) + traffic_of(GradientTarget{call.y, call.accumulate})};
}

Work work_of(const ActivationArguments& call) {
  return {0, traffic_of({call.x, call.y})};
}

Work work_of(const ActivationBackwardArguments& call) {
  return {0, traffic_of(needs_input(call.activation) ? call.x : call.y) + traffic_of(call.dy) +
                 traffic_of(GradientTarget{call.dx, call.accumulate})};
}

Work work_of(const DropoutArguments& call) {
  return {0, traffic_of(call.x) + traffic_of(GradientTarget{call.y, call.accumulate})};
}

Work work_of(const MatMulArguments& call) {
  const std::int64_t inner = call.transpose_a ? call.a.rows : call.a.cols;
  return {product_count(inner, {call.c.rows, call.c.cols}),
          traffic_of({call.a, call.b}) + traffic_of(GradientTarget{call.c, call.accumulate})};
}

WeightShape weight_of(const LinearArguments& call) {
  return shape_of(call.packed, call.weight, call.type);
}

Work work_of(const LinearArguments& call) {
  return {product_count(call.x.rows, weight_of(call)),
          weight_bytes(call.packed, call.weight, call.type) +
              traffic_of({call.x, call.bias, call.pre_activation, call.y, call.rounded_x})};
}

WeightShape weight_of(const LinearBackwardArguments& call) {
  return {call.weight.rows, call.weight.cols, call.type};
}

Work work_of(const LinearBackwardArguments& call) {
  const int targets = (call.dx.value.empty() ? 0 : 1) + (call.dweight.value.empty() ? 0 : 1);
  return {targets * product_count(call.dy.rows, weight_of(call)),
          traffic_of({call.x, call.weight, needs_input(call.activation) ? call.pre_activation : call.y, call.dy}) +
              traffic_of(call.dx) + traffic_of(call.dweight) + traffic_of(call.dbias)};
}

WeightShape weight_of(const DroppedLinearArguments& call) {
  return weight_of(call.linear);
}

Work work_of(const DroppedLinearArguments& call) {
  Work work = work_of(call.linear);
  work.bytes += traffic_of(call.rounded_y);
  return work;
}

WeightShape weight_of(const DroppedLinearBackwardArguments& call) {
  return weight_of(call.linear);
}

Work work_of(const DroppedLinearBackwardArguments& call) {
  return work_of(call.linear);
}

WeightShape weight_of(const FeedForwardArguments& call) {
  return {call.in->rows(), call.in->cols(), call.in->type()};
}

Work work_of(const FeedForwardArguments& call) {
  const WeightShape in = weight_of(call);
  const WeightShape out{call.out->rows(), call.out->cols(), call.out->type()};
  return {product_count(call.x.rows, in) + product_count(call.x.rows, out),
          traffic_of(in) + traffic_of(out) + traffic_of({call.x, call.in_bias, call.out_bias, call.y})};
}

Work work_of(const LayerNormArguments& call) {
  return {0, traffic_of({call.x, call.gain, call.bias, call.y, call.mean, call.inverse_deviation, call.rounded_y})};
}

Work work_of(const LayerNormBackwardArguments& call) {
  return {0, traffic_of({call.x, call.gain, call.mean, call.inverse_deviation, call.dy}) + traffic_of(call.dx) +
                 traffic_of(call.dgain) + traffic_of(call.dbias)};
}

Work work_of(const ResidualLayerNormArguments& call) {
  return {0, traffic_of({call.residual, call.x, call.gain, call.bias, call.sum, call.y, call.mean,
                         call.inverse_deviation, call.rounded_y})};
}

Work work_of(const ResidualLayerNormBackwardArguments& call) {
  return {0, traffic_of({call.sum, call.gain, call.mean, call.inverse_deviation, call.dy, call.dsum}) +
                 traffic_of(call.dresidual) + traffic_of(call.dx) + traffic_of(call.dgain) + traffic_of(call.dbias)};
}

/// The gradient replaces the logits.
Work work_of(const CrossEntropyRowsArguments& call) {
  return {0, (call.gradient_scale.count > 0 ? 2 : 1) * traffic_of(call.logits) + traffic_of({call.losses, call.nlls})};
}

Work work_of(const EmbeddingArguments& call) {
  const double table_row = static_cast<double>(call.y.cols * tensor::size_of(call.table.values.dtype));
  return {0, static_cast<double>(call.y.rows) * table_row + (call.position_table.empty() ? 1 : 2) * traffic_of(call.y)};
}

/// Rows without an id become 0, unless they are accumulated.
Work work_of(const EmbeddingBackwardArguments& call) {
  return {0, traffic_of(call.dy) + (call.dtable.accumulate ? 2 * traffic_of(call.dy) : traffic_of(call.dtable.value))};
}

Work work_of(const AttentionArguments& call) {
  return {2 * pairs_of(call) * static_cast<double>(call.q.cols),
          traffic_of({call.q, call.k, call.v, call.probabilities, call.y})};
}

/// dv = weights^T dy, dweights = dy v^T, dq = dscores k, dk = dscores^T q.
Work work_of(const AttentionBackwardArguments& call) {
  const AttentionArguments& forward = call.forward;
  return {4 * pairs_of(forward) * static_cast<double>(forward.q.cols),
          traffic_of({forward.q, forward.k, forward.v, forward.probabilities, call.dy, call.dweights}) +
              traffic_of(call.dq) + traffic_of(call.dk) + traffic_of(call.dv) + traffic_of(call.dbias)};
}

/// Rows that follow each other and have the same list of keys, as the hypotheses of a sentence, read them once.
Work work_of(const CachedAttentionArguments& call) {
  double keys = 0;
  double keys_read = 0;
  for (std::int64_t row = 0; row < call.ranges.count; ++row) {
    const KeyRange& range = call.ranges[row];
    keys += range.count;
    if (row == 0 || call.ranges[row - 1].begin != range.begin) keys_read += range.count;
  }
  const double width = static_cast<double>(call.q.cols);
  return {2 * keys * width, 2 * keys_read * width * static_cast<double>(tensor::size_of(call.keys.dtype)) +
                                traffic_of({call.q, call.probabilities, call.y})};
}

WeightShape weight_of(const ProjectTopKArguments& call) {
  return shape_of(call.packed, call.weight, call.type);
}

Work work_of(const ProjectTopKArguments& call) {
  return {product_count(call.hidden.rows, weight_of(call)),
          weight_bytes(call.packed, call.weight, call.type) +
              traffic_of({call.hidden, call.bias, call.tokens, call.log_probabilities})};
}

Work work_of(const GatherRowsArguments& call) {
  return {0, 2 * traffic_of(call.y)};
}

Work work_of(const ScatterRowsArguments& call) {
  return {0,
          traffic_of(call.x) + static_cast<double>(call.x.size()) * static_cast<double>(tensor::size_of(call.y.dtype))};
}

Work work_of(const RoundToArguments& call) {
  return {0, 2 * traffic_of(call.x)};
}

Work work_of(const AdamArguments& call) {
  return {0, traffic_of(call.gradients) + 2 * traffic_of({call.parameters, call.first_moment, call.second_moment})};
}

Work work_of(const MovingAverageArguments& call) {
  return {0, traffic_of(call.values) + 2 * traffic_of(call.average)};
}

Work work_of(const SumOfSquaresArguments& call) {
  return {0, traffic_of(call.x)};
}

}  // namespace dragoman::ops
