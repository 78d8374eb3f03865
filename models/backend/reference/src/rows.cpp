#include "kernels.h"
#include "matrix.h"
#include "round_to.h"

#include <dragoman/ops/rows.h>

namespace dragoman::backend::reference {

template <>
void kernel(Context&, const ops::GatherRowsArguments& arguments) {
  const Matrix x(arguments.x, "gather_rows");
  const Matrix y(arguments.y, "gather_rows");
  for (std::int64_t i = 0; i < arguments.rows.size(); ++i)
    for (std::int64_t j = 0; j < y.cols(); ++j) y(i, j) = arguments.rows[i] < 0 ? 0 : x(arguments.rows[i], j);
}

template <>
void kernel(Context&, const ops::ScatterRowsArguments& arguments) {
  const Matrix x(arguments.x, "scatter_rows");
  if (arguments.y.dtype != arguments.x.dtype) {
    for (std::int64_t i = 0; i < arguments.rows.size(); ++i)
      for (std::int64_t j = 0; j < x.cols(); ++j) tensor::set_element(arguments.y, arguments.rows[i], j, x(i, j));
    return;
  }
  const Matrix y(arguments.y, "scatter_rows");
  for (std::int64_t i = 0; i < arguments.rows.size(); ++i)
    for (std::int64_t j = 0; j < x.cols(); ++j) y(arguments.rows[i], j) = x(i, j);
}

template <>
void kernel(Context&, const ops::RoundToArguments& arguments) {
  const Matrix x(arguments.x, "round_to");
  for (std::int64_t i = 0; i < x.rows(); ++i)
    for (std::int64_t j = 0; j < x.cols(); ++j) x(i, j) = round_to(arguments.type, x(i, j));
}

}  // namespace dragoman::backend::reference
