#pragma once

#include <dragoman/ops/kernels.h>

namespace dragoman::ops {

/// The work of kernel calls, counted from their shapes. Divided by the speed of a machine it is a lower bound for their
/// time: a machine multiplies no faster, and reads each operand and writes each result at least once.
struct Work {
  double products = 0;  ///< multiplications whose results are added up
  double bytes = 0;     ///< of operands and results, also if they are in a cache

  Work& operator+=(const Work& other) noexcept {
    products += other.products;
    bytes += other.bytes;
    return *this;
  }
};

/// The weight [outputs, inputs] of a call, which tells the layers of a model apart; zeros for kernels without one.
struct WeightShape {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  ComputeType type = ComputeType::kF32;
  auto operator<=>(const WeightShape&) const = default;
};

/// Returns the work of a call. Exponentials, and the other functions of single elements, are no products.
Work work_of(const AddArguments& call);
Work work_of(const AddRowArguments& call);
Work work_of(const ScaleArguments& call);
Work work_of(const MultiplyArguments& call);
Work work_of(const ColumnSumArguments& call);
Work work_of(const ActivationArguments& call);
Work work_of(const ActivationBackwardArguments& call);
Work work_of(const DropoutArguments& call);
Work work_of(const MatMulArguments& call);
Work work_of(const LinearArguments& call);
Work work_of(const LinearBackwardArguments& call);
Work work_of(const DroppedLinearArguments& call);
Work work_of(const DroppedLinearBackwardArguments& call);
Work work_of(const FeedForwardArguments& call);
Work work_of(const LayerNormArguments& call);
Work work_of(const LayerNormBackwardArguments& call);
Work work_of(const ResidualLayerNormArguments& call);
Work work_of(const ResidualLayerNormBackwardArguments& call);
Work work_of(const CrossEntropyRowsArguments& call);
Work work_of(const EmbeddingArguments& call);
Work work_of(const EmbeddingBackwardArguments& call);
Work work_of(const AttentionArguments& call);
Work work_of(const AttentionBackwardArguments& call);
Work work_of(const CachedAttentionArguments& call);
Work work_of(const ProjectTopKArguments& call);
Work work_of(const GatherRowsArguments& call);
Work work_of(const ScatterRowsArguments& call);
Work work_of(const RoundToArguments& call);
Work work_of(const AdamArguments& call);
Work work_of(const MovingAverageArguments& call);
Work work_of(const SumOfSquaresArguments& call);
/// The work of other kernels is not counted: they are rare, or their lists are short.
template <class Arguments>
Work work_of(const Arguments&) {
  return {};
}

/// Returns the weight of a call.
WeightShape weight_of(const LinearArguments& call);
WeightShape weight_of(const LinearBackwardArguments& call);
WeightShape weight_of(const DroppedLinearArguments& call);
WeightShape weight_of(const DroppedLinearBackwardArguments& call);
/// The first of the two weights.
WeightShape weight_of(const FeedForwardArguments& call);
WeightShape weight_of(const ProjectTopKArguments& call);
template <class Arguments>
WeightShape weight_of(const Arguments&) {
  return {};
}

}  // namespace dragoman::ops
