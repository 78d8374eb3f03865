#pragma once

#include "error_message.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <dragoman/backend_reference/install.h>
#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>
#include <dragoman/core/random.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::testing {

/// A matrix of a test's own arithmetic.
using Rows = std::vector<std::vector<double>>;

/// A context of the reference backend.
struct ReferenceContext {
  ReferenceContext() { backend::reference::install_kernels(kernels); }

  tensor::Tensor tensor(const Rows& rows) {
    const tensor::Tensor tensor =
        context.allocate(static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size()));
    for (std::int64_t i = 0; i < tensor.rows; ++i)
      for (std::int64_t j = 0; j < tensor.cols; ++j)
        tensor::set_element(tensor, i, j, rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]);
    return tensor;
  }

  tensor::KernelTable kernels{tensor::Device::kReference};
  core::SequentialExecutor executor;
  tensor::Context context{kernels, tensor::host_memory(), tensor::DType::kF64, executor};
};

inline Rows rows_of(const tensor::Tensor& tensor) {
  Rows rows(static_cast<std::size_t>(tensor.rows));
  for (std::int64_t i = 0; i < tensor.rows; ++i)
    for (std::int64_t j = 0; j < tensor.cols; ++j)
      rows[static_cast<std::size_t>(i)].push_back(tensor::element(tensor, i, j));
  return rows;
}

/// All values of a tensor that may be anywhere.
inline std::vector<double> values_of(tensor::DeviceMemory& memory, const tensor::Tensor& tensor) {
  const tensor::HostView view = tensor::HostView::of(memory, tensor);
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.rows; ++i)
    for (std::int64_t j = 0; j < tensor.cols; ++j) values.push_back(tensor::element(view.tensor(), i, j));
  return values;
}

/// Normally distributed numbers.
inline Rows random_rows(std::size_t rows, std::size_t cols, std::uint64_t stream) {
  Rows result(rows, std::vector<double>(cols));
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j) result[i][j] = core::random_normal(5, stream, i * cols + j);
  return result;
}

/// Vaswani et al. 2017, eq. 1, of one query over the keys and values that it sees: one softmax per head. `weights`, if
/// wanted, receives them by head.
inline std::vector<double> attend(const std::vector<double>& query, const Rows& keys, const Rows& values, int heads,
                                  Rows* weights = nullptr) {
  const std::size_t width = query.size() / static_cast<std::size_t>(heads);
  std::vector<double> result(query.size(), 0);
  if (weights != nullptr) weights->clear();
  for (std::size_t begin = 0; begin < query.size(); begin += width) {
    std::vector<double> share;
    double sum = 0;
    for (const std::vector<double>& key : keys) {
      double dot = 0;
      for (std::size_t j = begin; j < begin + width; ++j) dot += query[j] * key[j];
      share.push_back(std::exp(dot / std::sqrt(static_cast<double>(width))));
      sum += share.back();
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      share[i] /= sum;
      for (std::size_t j = begin; j < begin + width; ++j) result[j] += share[i] * values[i][j];
    }
    if (weights != nullptr) weights->push_back(share);
  }
  return result;
}

}  // namespace dragoman::testing
