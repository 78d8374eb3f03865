#include "dragoman/nn/alignment.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/tensor/context.h>

namespace dragoman::nn {

void KeptAttention::require_kept() const {
  core::require(!weights_.empty(), core::ErrorCode::kInvalidArgument,
                "no alignment was kept: request_alignment() before decode()");
}

std::vector<float> KeptAttention::mean(tensor::DeviceMemory& memory, const Place& place) {
  require_kept();
  if (!on_host_) on_host_ = tensor::HostView::of(memory, weights_);
  const Tensor& weights = on_host_->tensor();
  const int heads = std::min(request_.heads, total_heads_);
  std::vector<float> mean(static_cast<std::size_t>(place.keys), 0.0F);
  for (int head = 0; head < heads; ++head) {
    for (std::int64_t j = 0; j < place.keys; ++j) {
      const double weight = tensor::element(weights, place.row, place.column + head * place.head_stride + j);
      mean[static_cast<std::size_t>(j)] += static_cast<float>(weight / heads);
    }
  }
  return mean;
}

}  // namespace dragoman::nn
