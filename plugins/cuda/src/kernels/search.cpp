#include "kernels.h"
#include "views.h"

#include <dragoman/ops/choose_next.h>
#include <dragoman/ops/extend_lists.h>

namespace dragoman::backend::cuda {

template <>
void kernel(Context&, const ops::ChooseNextArguments& arguments) {
  constexpr std::string_view kOp = "choose_next";
  if (arguments.choices.empty()) return;
  device::choose_next({.candidates = view_of<std::int32_t>(arguments.candidates, tensor::DType::kI32, kOp),
                       .log_probabilities = matrix(arguments.log_probabilities, kOp),
                       .sums = arguments.sums.data,
                       .choices = arguments.choices.data,
                       .most_rows = arguments.most_rows,
                       .end = arguments.end,
                       .tokens = arguments.tokens.as<std::int32_t>(),
                       .parents = arguments.parents.as<std::int32_t>()},
                      arguments.choices.size());
}

template <>
void kernel(Context&, const ops::ExtendListsArguments& arguments) {
  if (arguments.parents.empty()) return;
  device::extend_lists({.before = arguments.before.as<std::int32_t>(),
                        .before_offsets = arguments.before_offsets.data,
                        .parents = ids(arguments.parents),
                        .added = arguments.added.data,
                        .added_offsets = arguments.added_offsets.data,
                        .offsets = arguments.offsets.data,
                        .lists = arguments.lists.as<std::int32_t>(),
                        .kept = arguments.kept.as<std::int32_t>()});
}

}  // namespace dragoman::backend::cuda
