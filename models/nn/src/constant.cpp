#include "dragoman/nn/constant.h"

#include <dragoman/core/error.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::nn {

tensor::Tensor Constant::on(const tensor::Context& context) const {
  std::call_once(made_, [&] {
    const std::vector<double> values = values_();
    const tensor::DType dtype = context.float_type();
    buffer_ = tensor::Buffer(context.memory(), values.size() * tensor::size_of(dtype));
    tensor_ = {buffer_.data(), rows_, cols_, cols_, dtype, context.device()};
    const auto view = tensor::HostView::to_be_written(context.memory(), tensor_);
    for (std::int64_t i = 0; i < rows_; ++i)
      for (std::int64_t j = 0; j < cols_; ++j)
        tensor::set_element(view.tensor(), i, j, values[static_cast<std::size_t>(i * cols_ + j)]);
    view.store();
  });
  if (tensor_.device != context.device() || tensor_.dtype != context.float_type())
    core::fail(core::ErrorCode::kInvalidArgument, "a model that computed on {} in {} is asked to compute on {} in {}",
               tensor::name_of(tensor_.device), tensor::name_of(tensor_.dtype), tensor::name_of(context.device()),
               tensor::name_of(context.float_type()));
  return tensor_;
}

}  // namespace dragoman::nn
