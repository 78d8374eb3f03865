#include "gemm/packed_matrix.h"
#include "kernels.h"
#include "shortlist_outputs.h"
#include "views.h"

#include <algorithm>
#include <bit>

#include <dragoman/ops/project_shortlist_top_k.h>

namespace dragoman::backend::cuda {
namespace {

/// nullptr if there are none: what was uploaded has an address even so.
template <class T>
const T* data_of(const ops::DeviceArray<T>& array) {
  return array.empty() ? nullptr : array.data;
}

/// Candidates that are sorted at a time.
constexpr std::int64_t kMaxSorted = std::int64_t{1} << 22;

device::TopK top_k_of(const ops::ProjectTopKArguments& arguments, std::string_view op) {
  return {.vocabulary = arguments.packed != nullptr ? arguments.packed->rows() : arguments.weight.rows,
          .k = arguments.k,
          .temperatures = data_of(arguments.temperatures),
          .edits = data_of(arguments.edits),
          .edit_count = arguments.edits.size(),
          .noise = data_of(arguments.noise),
          .shortlist = arguments.shortlist.data,
          .shortlist_of_row = data_of(arguments.shortlist_of_row),
          .scored = data_of(arguments.scored),
          .scored_count = arguments.scored.size(),
          .tokens = view_of<std::int32_t>(arguments.tokens, tensor::DType::kI32, op),
          .log_probabilities = matrix(arguments.log_probabilities, op),
          .scored_log_probabilities = matrix(arguments.scored_log_probabilities, op)};
}

template <class T>
device::View<T> rows_of(const device::View<T>& view, std::int64_t begin, std::int64_t count) {
  return {view.data + begin * view.stride, count, view.cols, view.stride};
}

/// Finds the best tokens in logits that have been computed.
void find_best(Context& context, device::TopK top_k, std::string_view op) {
  const auto scratch_matrix = [&](std::int64_t rows, std::int64_t cols) {
    return matrix(context.arena().allocate(rows, cols, tensor::DType::kF32, context.device()), op);
  };
  const std::int64_t rows = top_k.tokens.rows;
  const std::int64_t panels = device::top_k_panels(top_k.vocabulary);
  const bool quick = top_k.k <= device::kMaxQuickTopK;
  const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(top_k.vocabulary)));
  const std::int64_t of_row = quick ? panels * top_k.k : padded;
  const std::int64_t most = quick ? rows : std::clamp<std::int64_t>(kMaxSorted / of_row, 1, rows);
  top_k.scratch = {.panels = panels,
                   .maxima = scratch<float>(context, most * panels),
                   .sums = scratch<float>(context, most * panels),
                   .candidates_of_row = of_row,
                   .ranks = scratch<double>(context, most * of_row),
                   .tokens = scratch<std::int32_t>(context, most * of_row),
                   .values = quick ? scratch<float>(context, most * of_row) : nullptr,
                   .changed = quick ? device::Matrix{} : scratch_matrix(most, top_k.vocabulary),
                   .shortlist_columns =
                       top_k.shortlist_columns == nullptr ? device::Matrix{} : scratch_matrix(most, top_k.logits.cols)};
  for (std::int64_t begin = 0; begin < rows; begin += most) {
    device::TopK part = top_k;
    const std::int64_t count = std::min(most, rows - begin);
    part.first_row = begin;
    part.logits = rows_of(top_k.logits, begin, count);
    part.tokens = rows_of(top_k.tokens, begin, count);
    part.log_probabilities = rows_of(top_k.log_probabilities, begin, count);
    device::top_k(part);
  }
}

}  // namespace

template <>
void kernel(Context& context, const ops::ProjectTopKArguments& arguments) {
  constexpr std::string_view kOp = "project_top_k";
  if (arguments.hidden.rows == 0) return;
  const tensor::ScratchScope scope(context.arena());
  device::TopK top_k = top_k_of(arguments, kOp);
  top_k.logits = matrix(
      context.arena().allocate(arguments.hidden.rows, top_k.vocabulary, tensor::DType::kF32, context.device()), kOp);
  multiply(context, arguments.hidden, arguments.weight, arguments.type, arguments.packed, top_k.logits,
           {.bias = matrix(arguments.bias, kOp)}, kOp);
  find_best(context, top_k, kOp);
}

template <>
void kernel(Context& context, const ops::ProjectShortlistTopKArguments& arguments) {
  constexpr std::string_view kOp = "project_shortlist_top_k";
  const ops::ProjectTopKArguments& with = arguments.top_k;
  if (with.hidden.rows == 0) return;
  const tensor::ScratchScope scope(context.arena());
  device::TopK top_k = top_k_of(with, kOp);
  top_k.shortlist_columns = arguments.shortlist_columns.data;
  top_k.logits =
      matrix(context.arena().allocate(with.hidden.rows, arguments.columns, tensor::DType::kF32, context.device()), kOp);
  shortlist_of(*arguments.outputs).multiply(context, matrix(with.hidden, kOp), top_k.logits);
  find_best(context, top_k, kOp);
}

}  // namespace dragoman::backend::cuda
