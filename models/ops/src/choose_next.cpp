#include "dragoman/ops/choose_next.h"

#include <algorithm>

#include <dragoman/core/error.h>

namespace dragoman::ops {
namespace {

void check(const NextChoices& from, std::int64_t tokens, std::int64_t parents) {
  const auto rows = static_cast<std::int64_t>(from.sums.size());
  if (from.candidates.rows != rows || from.log_probabilities.rows != rows ||
      from.log_probabilities.cols != from.candidates.cols || tokens != parents)
    core::fail(core::ErrorCode::kInvalidArgument,
               "choose_next: {} sums for candidates {} and log probabilities {}; {} tokens and {} parents", rows,
               tensor::describe(from.candidates), tensor::describe(from.log_probabilities), tokens, parents);
  for (const NextRows& choice : from.choices)
    if (choice.first_row < 0 || choice.rows < 1 || choice.first_row + choice.rows > rows || choice.candidates < 1 ||
        choice.candidates > from.candidates.cols || choice.first_next < 0 || choice.next < 0 ||
        choice.first_next + choice.next > tokens)
      core::fail(core::ErrorCode::kInvalidArgument,
                 "choose_next: {} candidates of rows [{}, {}) of [{}, {}] are to be rows [{}, {}) of {}",
                 choice.candidates, choice.first_row, choice.first_row + choice.rows, rows, from.candidates.cols,
                 choice.first_next, choice.first_next + choice.next, tokens);
}

/// Gives write access to memory of the step, which is const for all other users.
Tensor as_tensor(const Context& context, const DeviceIndices& uploaded) {
  return {const_cast<std::int32_t*>(uploaded.data),
          1,
          uploaded.count,
          uploaded.count,
          tensor::DType::kI32,
          context.device()};
}

}  // namespace

void choose_next(Context& context, const NextChoices& from, std::int32_t end, const DeviceIndices& tokens,
                 const DeviceIndices& parents) {
  check(from, tokens.size(), parents.size());
  if (from.choices.empty()) return;
  const std::int32_t most_rows = std::ranges::max(from.choices, {}, &NextRows::rows).rows;
  // A preparation has to upload everything that a kernel reads before it looks the kernel up.
  const ChooseNextArguments arguments = {.candidates = from.candidates,
                                         .log_probabilities = from.log_probabilities,
                                         .sums = context.upload(from.sums),
                                         .choices = context.upload(from.choices),
                                         .most_rows = most_rows,
                                         .end = end,
                                         .tokens = as_tensor(context, tokens),
                                         .parents = as_tensor(context, parents)};
  context.kernels().get(kChooseNext)(context, arguments);
}

}  // namespace dragoman::ops
