#include "dragoman/nn/zero_start.h"

#include <dragoman/tensor/context.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::nn {

bool starts_from_zeros(const Seq2SeqModel& model) {
  const Parameter* const table = model.embedding_tables().target;
  if (table == nullptr) return false;
  const std::int64_t start = model.spec().decoder_start;
  const tensor::Tensor row = table->value.row_range(start, start + 1);
  const auto view = tensor::HostView::of(model.parameters().memory(), row);
  for (std::int64_t j = 0; j < row.cols; ++j)
    if (tensor::element(view.tensor(), 0, j) != 0) return false;
  return true;
}

}  // namespace dragoman::nn
