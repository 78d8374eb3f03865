#include "kernels.h"
#include "packed_matrix.h"
#include "views.h"

#include <dragoman/ops/linear.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/ops/project_top_k.h>

namespace dragoman::backend::cuda {
namespace {

/// nullptr if there are none: what was uploaded has an address even so.
template <class T>
const T* data_of(const ops::DeviceArray<T>& array) {
  return array.empty() ? nullptr : array.data;
}

}  // namespace

template <>
void kernel(Context& context, const ops::MatMulArguments& arguments) {
  constexpr std::string_view kOp = "matmul";
  multiply_plain(context,
                 {.a = matrix(arguments.a, kOp),
                  .transpose_a = arguments.transpose_a,
                  .b = matrix(arguments.b, kOp),
                  .transpose_b = arguments.transpose_b,
                  .c = matrix(arguments.c, kOp),
                  .epilogue = {.accumulate = arguments.accumulate}},
                 arguments.type, kOp);
}

template <>
void kernel(Context& context, const ops::LinearArguments& arguments) {
  constexpr std::string_view kOp = "linear";
  multiply(context, matrix(arguments.x, kOp), arguments.weight, arguments.type, arguments.packed,
           matrix(arguments.y, kOp),
           {.bias = matrix(arguments.bias, kOp),
            .activation = arguments.activation,
            .pre_activation = matrix(arguments.pre_activation, kOp)},
           kOp);
}

template <>
void kernel(Context& context, const ops::ProjectTopKArguments& arguments) {
  constexpr std::string_view kOp = "project_top_k";
  const tensor::ScratchScope scope(context.arena());
  const std::int64_t vocabulary = arguments.packed != nullptr ? arguments.packed->rows() : arguments.weight.rows;
  const device::Matrix logits =
      matrix(context.arena().allocate(arguments.hidden.rows, vocabulary, tensor::DType::kF32, context.device()), kOp);
  multiply(context, matrix(arguments.hidden, kOp), arguments.weight, arguments.type, arguments.packed, logits,
           {.bias = matrix(arguments.bias, kOp)}, kOp);
  device::top_k({.logits = logits,
                 .k = arguments.k,
                 .temperatures = data_of(arguments.temperatures),
                 .edits = data_of(arguments.edits),
                 .edit_count = arguments.edits.size(),
                 .noise = data_of(arguments.noise),
                 .allowed = arguments.allowed.data,
                 .allowed_of_row = data_of(arguments.allowed_of_row),
                 .wanted = data_of(arguments.wanted),
                 .wanted_count = arguments.wanted.size(),
                 .tokens = view_of<std::int32_t>(arguments.tokens, tensor::DType::kI32, kOp),
                 .log_probabilities = matrix(arguments.log_probabilities, kOp),
                 .wanted_log_probabilities = matrix(arguments.wanted_log_probabilities, kOp)});
}

}  // namespace dragoman::backend::cuda
