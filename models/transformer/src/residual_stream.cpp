#include "dragoman/transformer/residual_stream.h"

#include <dragoman/ops/dropout.h>

namespace dragoman::transformer {

Variable ResidualStream::input(Context& context, const nn::LayerNorm& norm) {
  if (place_ == NormPlace::kPost) return x_;
  if (pending_.empty()) return norm(context, x_);
  if (shared_.empty() && ops::shares_norm_memory(context)) shared_ = context.allocate(x_.value.rows, x_.value.cols);
  const auto [sum, normalised] = norm.after_residual(
      context, x_, pending_, dropout_, {.normalised = shared_, .again = &again_, .may_overwrite_x = !shared_.empty()});
  x_ = sum;
  pending_ = {};
  return normalised;
}

void ResidualStream::output(Context& context, const nn::LayerNorm& norm, const Variable& out) {
  if (!again_.empty()) ops::record_again(context, again_);
  again_ = {};
  if (place_ == NormPlace::kPost)
    x_ = norm.after_residual(context, x_, out, dropout_).normalised;
  else
    pending_ = out;
}

Variable ResidualStream::value(Context& context) {
  if (!pending_.empty()) x_ = ops::add(context, x_, ops::dropout(context, pending_, dropout_));
  pending_ = {};
  return x_;
}

Variable ResidualStream::close(Context& context, const nn::LayerNorm* final_norm) {
  if (final_norm == nullptr) return value(context);
  if (pending_.empty()) return (*final_norm)(context, x_);
  return final_norm->after_residual(context, x_, pending_, dropout_).normalised;
}

}  // namespace dragoman::transformer
