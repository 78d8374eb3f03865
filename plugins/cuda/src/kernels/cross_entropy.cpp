#include "gemm/packed_matrix.h"
#include "kernels.h"
#include "views.h"

#include <algorithm>

#include <dragoman/ops/softmax_cross_entropy.h>

namespace dragoman::backend::cuda {
namespace {

double* doubles(const Tensor& row, std::string_view op) {
  return view_of<double>(row, tensor::DType::kF64, op).data;
}

device::CrossEntropyRows rows_of(Context& context, const device::Matrix& logits, const ops::DeviceIndices& targets,
                                 double label_smoothing, const tensor::DeviceArray<double>& gradient_scale) {
  device::CrossEntropyRows rows{.logits = logits, .targets = ids(targets), .label_smoothing = label_smoothing};
  if (gradient_scale.empty()) return rows;
  rows.gradient_scale = gradient_scale.data;
  rows.statistics = scratch<device::RowStatistics>(context, logits.rows);
  return rows;
}

/// Returns the number of rows of a chunk. Chunks have equal sizes, and are as few as possible with at most 2^28 logits
/// (1 GiB) each. Each chunk reads all of the weight, and adds to all of its gradient, at the cost of a few hundred
/// rows.
std::int64_t rows_within(std::int64_t rows, std::int64_t vocabulary) {
  constexpr std::int64_t kMaxLogits = std::int64_t{1} << 28;
  constexpr std::int64_t kRound = 128;
  const std::int64_t most_rows = std::max(kMaxLogits / std::max<std::int64_t>(vocabulary, 1) / kRound * kRound, kRound);
  const std::int64_t chunks = std::max<std::int64_t>((rows + most_rows - 1) / most_rows, 1);
  return ((rows + chunks - 1) / chunks + kRound - 1) / kRound * kRound;
}

/// One loss: what all of its chunks have in common.
class ProjectionLoss {
 public:
  ProjectionLoss(Context& context, const ops::ProjectionLossArguments& arguments)
      : context_(context), arguments_(arguments) {
    if (arguments.packed == nullptr) weight_ = operand(context, arguments.weight, arguments.type, kOp);
  }

  std::int64_t rows_of_chunk() const {
    return arguments_.chunk_rows > 0 ? arguments_.chunk_rows : rows_within(arguments_.hidden.rows, vocabulary_);
  }

  /// Rows [begin, end). Chunks come in their order.
  void add(std::int64_t begin, std::int64_t end) {
    const tensor::ScratchScope scope(context_.arena());
    const Tensor hidden = arguments_.hidden.row_range(begin, end);
    const device::Matrix logits = logits_of_chunk(end - begin);
    const device::Epilogue epilogue{.bias = matrix(arguments_.bias, kOp)};
    Operand x;
    if (arguments_.packed != nullptr) {
      packed_of(*arguments_.packed, kOp).multiply(context_, matrix(hidden, kOp), logits, epilogue);
    } else {
      x = operand(context_, hidden, arguments_.type, kOp);
      multiply_plain(
          context_,
          {.type = arguments_.type, .a = x, .b = weight_, .transpose_b = true, .c = logits, .epilogue = epilogue});
    }
    const Operand dlogits = loss_of_chunk(begin, end, logits);
    if (arguments_.gradient_scale.empty()) return;
    if (!arguments_.dhidden.empty())
      multiply_plain(context_, {.type = arguments_.type,
                                .a = dlogits,
                                .b = weight_,
                                .c = matrix(arguments_.dhidden.row_range(begin, end), kOp)});
    if (!arguments_.dweight.value.empty())
      multiply_plain(context_, {.type = arguments_.type,
                                .a = dlogits,
                                .transpose_a = true,
                                .b = x,
                                .c = matrix(arguments_.dweight.value, kOp),
                                .epilogue = {.accumulate = begin > 0 || arguments_.dweight.accumulate}});
  }

 private:
  static constexpr std::string_view kOp = "projection_loss";

  /// Rows begin where four numbers are one load.
  device::Matrix logits_of_chunk(std::int64_t rows) {
    const std::int64_t stride = (vocabulary_ + 3) / 4 * 4;
    return {scratch<float>(context_, rows * stride), rows, vocabulary_, stride};
  }
  /// Returns the gradient of the logits, in their place or, for products of 16 bits, as words.
  Operand loss_of_chunk(std::int64_t begin, std::int64_t end, const device::Matrix& logits) {
    device::CrossEntropyRows rows = rows_of(context_, logits, arguments_.targets.subarray(begin, end),
                                            arguments_.label_smoothing, arguments_.gradient_scale);
    rows.losses = doubles(arguments_.losses, kOp) + begin;
    rows.nlls = doubles(arguments_.nlls, kOp) + begin;
    if (!arguments_.gradient_scale.empty()) {
      rows.sums = target(arguments_.dbias, kOp);
      rows.sums.accumulate = begin > 0 || arguments_.dbias.accumulate;
      if (rows.sums.value.data != nullptr)
        rows.partial = scratch<float>(context_, 2 * device::column_parts(logits.rows) * logits.cols);
      rows.type = half_of(arguments_.type);
      if (arguments_.type != ComputeType::kF32) rows.words = scratch_words(context_, logits.rows, logits.cols);
    }
    device::cross_entropy_rows(rows);
    return {.floats = logits, .words = rows.words};
  }

  Context& context_;
  const ops::ProjectionLossArguments& arguments_;
  std::int64_t vocabulary_ = arguments_.packed != nullptr ? arguments_.packed->rows() : arguments_.weight.rows;
  Operand weight_;
};

}  // namespace

template <>
void kernel(Context& context, const ops::CrossEntropyRowsArguments& arguments) {
  constexpr std::string_view kOp = "cross_entropy_rows";
  const tensor::ScratchScope scope(context.arena());
  device::CrossEntropyRows rows = rows_of(context, matrix(arguments.logits, kOp), arguments.targets,
                                          arguments.label_smoothing, arguments.gradient_scale);
  rows.losses = doubles(arguments.losses, kOp);
  rows.nlls = doubles(arguments.nlls, kOp);
  device::cross_entropy_rows(rows);
}

template <>
void kernel(Context& context, const ops::ProjectionLossArguments& arguments) {
  const std::int64_t rows = arguments.hidden.rows;
  if (rows == 0) return;
  const tensor::ScratchScope scope(context.arena());
  ProjectionLoss loss(context, arguments);
  const std::int64_t chunk = loss.rows_of_chunk();
  for (std::int64_t begin = 0; begin < rows; begin += chunk) loss.add(begin, std::min(rows, begin + chunk));
}

}  // namespace dragoman::backend::cuda
