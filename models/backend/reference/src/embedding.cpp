#include "kernels.h"
#include "matrix.h"

#include <dragoman/ops/embedding.h>

namespace dragoman::backend::reference {

template <>
void kernel(Context&, const ops::EmbeddingArguments& arguments) {
  const Matrix position_table(arguments.position_table, "embedding");
  const Matrix y(arguments.y, "embedding");
  for (std::int64_t t = 0; t < y.rows(); ++t)
    for (std::int64_t j = 0; j < y.cols(); ++j) {
      double value = arguments.scale * tensor::element(arguments.table, arguments.ids[t], j);
      if (position_table) value += position_table(arguments.positions[t] + arguments.first_position, j);
      y(t, j) = value * dropout_factor(arguments.rate, arguments.random, t * y.cols() + j);
    }
}

template <>
void kernel(Context&, const ops::EmbeddingBackwardArguments& arguments) {
  const Matrix dy(arguments.dy, "embedding_backward");
  const Matrix dtable = ready_to_add(arguments.dtable, "embedding_backward");
  for (std::int64_t t = 0; t < dy.rows(); ++t)
    for (std::int64_t j = 0; j < dy.cols(); ++j)
      dtable(arguments.ids[t] + arguments.first, j) +=
          arguments.scale * dy(t, j) * dropout_factor(arguments.rate, arguments.random, t * dy.cols() + j);
}

}  // namespace dragoman::backend::reference
