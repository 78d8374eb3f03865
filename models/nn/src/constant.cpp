#include "dragoman/nn/constant.h"

#include <dragoman/core/error.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::nn {

Constant::Table Constant::make(const tensor::Context& context) const {
  const std::vector<double> values = values_();
  const tensor::DType dtype = context.float_type();
  Table table{tensor::Buffer(context.memory(), values.size() * tensor::size_of(dtype)), {}};
  table.tensor = {table.buffer.data(), rows_, cols_, cols_, dtype, context.device()};
  const auto view = tensor::HostView::to_be_written(context.memory(), table.tensor);
  for (std::int64_t i = 0; i < rows_; ++i)
    for (std::int64_t j = 0; j < cols_; ++j)
      tensor::set_element(view.tensor(), i, j, values[static_cast<std::size_t>(i * cols_ + j)]);
  view.store();
  return table;
}

tensor::Tensor Constant::on(const tensor::Context& context) const {
  const tensor::Tensor& made = table_.get([&] { return make(context); }).tensor;
  if (made.device != context.device() || made.dtype != context.float_type())
    core::fail(core::ErrorCode::kInvalidArgument, "a model that computed on {} in {} is asked to compute on {} in {}",
               tensor::name_of(made.device), tensor::name_of(made.dtype), tensor::name_of(context.device()),
               tensor::name_of(context.float_type()));
  return made;
}

}  // namespace dragoman::nn
