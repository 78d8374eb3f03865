#include "dragoman/ops/embedding.h"

#include "check.h"
#include "dragoman/ops/dropout.h"

#include <dragoman/core/error.h>

namespace dragoman::ops {
namespace {

void require_in_table(const Indices& ids, std::int32_t first, const Tensor& table, std::string_view what) {
  for (std::size_t i = 0; i < ids.host.size(); ++i)
    core::require(ids.host[i] + first >= 0 && ids.host[i] + first < table.rows, core::ErrorCode::kInvalidArgument,
                  "embedding: {} {} at row {} is outside of the table of {} rows", what, ids.host[i] + first, i,
                  table.rows);
}

void backward_into(Context& context, const Indices& ids, std::int32_t first, const Variable& table, const Tensor& dy,
                   double scale, double rate, const RandomState& random) {
  if (!table.needs_gradient()) return;
  const GradientTarget target = autograd::target_of(context, *table.gradient);
  context.kernels().get(kEmbeddingBackward)(context, {ids, first, dy, scale, rate, random, target});
}

}  // namespace

Variable embedding(Context& context, const Indices& ids, const Weight& weight, const Indices& positions,
                   const Variable& position_table, const EmbeddingOptions& options) {
  const Variable& table = weight.value;
  require_in_table(ids, 0, table.value, "the id");
  if (!position_table.empty()) {
    core::require(positions.size() == ids.size() && position_table.value.cols == table.value.cols,
                  core::ErrorCode::kInvalidArgument, "embedding: {} positions of width {} for {} ids of width {}",
                  positions.size(), position_table.value.cols, ids.size(), table.value.cols);
    require_in_table(positions, options.first_position, position_table.value, "the position");
  }
  const double rate = effective_rate(context, options.dropout);
  const RandomState random = rate > 0 ? autograd::next_random(context) : RandomState{};
  const bool record = autograd::recording(context, table, position_table);
  const Variable y = autograd::make_variable(context, context.allocate(ids.size(), table.value.cols), record);
  context.kernels().get(kEmbedding)(context, {ids, weight.stored(), options.scale, positions, position_table.value,
                                              options.first_position, rate, random, y.value});
  if (record)
    autograd::record(context, y.gradient, [=, scale = options.scale, first = options.first_position](Context& ctx) {
      backward_into(ctx, ids, 0, table, y.gradient->value, scale, rate, random);
      backward_into(ctx, positions, first, position_table, y.gradient->value, 1, rate, random);
    });
  return y;
}

}  // namespace dragoman::ops
