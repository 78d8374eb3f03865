#include "kernels.h"
#include "matrix.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <dragoman/ops/attention.h>

namespace dragoman::backend::reference {
namespace {

/// One head of one query row: the keys that it sees, and the positions of its weights.
struct Query {
  std::int64_t row;           ///< row in q and y
  std::int64_t first_key;     ///< row in k and v
  std::int64_t keys;          ///< n: keys of the sequence
  std::int64_t visible;       ///< the number of keys that it sees, from the first
  std::int64_t first_col;     ///< first column of the head
  std::int64_t first_weight;  ///< flat index of its weight for key 0
  std::int64_t head;
  std::int64_t place;  ///< position of the query among the keys
};

std::int64_t visible_keys(bool causal, std::int64_t i, std::int64_t queries, std::int64_t keys) {
  return causal ? std::clamp<std::int64_t>(i + keys - queries + 1, 0, keys) : keys;
}

template <class Visitor>
void for_each_query(const ops::AttentionArguments& arguments, Visitor&& visit) {
  const std::int64_t width = arguments.q.cols / arguments.heads;
  std::int64_t weights = 0;  // of the previous sequences
  for (std::int64_t b = 0; b + 1 < arguments.q_offsets.size(); ++b) {
    const std::int64_t q_begin = arguments.q_offsets[b];
    const std::int64_t k_begin = arguments.k_offsets[b];
    const std::int64_t m = arguments.q_offsets[b + 1] - q_begin;
    const std::int64_t n = arguments.k_offsets[b + 1] - k_begin;
    for (std::int64_t h = 0; h < arguments.heads; ++h)
      for (std::int64_t i = 0; i < m; ++i)
        visit(Query{q_begin + i, k_begin, n, visible_keys(arguments.causal, i, m, n), h * width,
                    weights + (h * m + i) * n, h, i + n - m});
    weights += arguments.heads * m * n;
  }
}

/// Returns the row in a table of biases for key j and a query at position `place`.
std::int64_t bias_row(const Matrix& bias, std::int64_t j, std::int64_t place) {
  const std::int64_t reach = (bias.rows() - 1) / 2;
  return reach + std::clamp(j - place, -reach, reach);
}

double dot(const double* a, const double* b, std::int64_t width) {
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += a[c] * b[c];
  return sum;
}

void add_scaled(double* to, double factor, const double* from, std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c) to[c] += factor * from[c];
}

void softmax_in_place(std::vector<double>& scores) {
  log_softmax_in_place(scores);
  for (double& score : scores) score = std::exp(score);
}

/// The flow of the gradient through one query: dy -> weights -> scores -> q, k and v.
class QueryBackward {
 public:
  explicit QueryBackward(const ops::AttentionBackwardArguments& arguments)
      : forward_(arguments.forward),
        q_(forward_.q, "attention_backward"),
        k_(forward_.k, "attention_backward"),
        v_(forward_.v, "attention_backward"),
        probabilities_(forward_.probabilities, "attention_backward"),
        dy_(arguments.dy, "attention_backward"),
        dq_(ready_to_add(arguments.dq, "attention_backward")),
        dk_(ready_to_add(arguments.dk, "attention_backward")),
        dv_(ready_to_add(arguments.dv, "attention_backward")),
        dbias_(ready_to_add(arguments.dbias, "attention_backward")),
        dweights_(arguments.dweights, "attention_backward"),
        width_(forward_.q.cols / forward_.heads),
        scale_(ops::score_scale<double>(forward_.scale, width_)) {}

  void operator()(const Query& query) {
    const double* dy = &dy_(query.row, query.first_col);
    weight_gradients_.assign(static_cast<std::size_t>(query.visible), 0);
    double weighted = 0;
    for (std::int64_t j = 0; j < query.visible; ++j) {
      const double keep = dropout_factor(forward_.rate, forward_.random, query.first_weight + j);
      const double weight = probabilities_(0, query.first_weight + j);
      const std::int64_t key = query.first_key + j;
      if (dv_) add_scaled(&dv_(key, query.first_col), keep * weight, dy, width_);
      double gradient = keep * dot(dy, &v_(key, query.first_col), width_);
      if (dweights_) gradient += dweights_(0, query.first_weight + j);
      weight_gradients_[static_cast<std::size_t>(j)] = gradient;
      weighted += weight * gradient;
    }
    for (std::int64_t j = 0; j < query.visible; ++j) {
      const double weight = probabilities_(0, query.first_weight + j);
      const double biased_gradient = weight * (weight_gradients_[static_cast<std::size_t>(j)] - weighted);
      const double score_gradient = biased_gradient * scale_;
      if (dbias_) dbias_(bias_row(dbias_, j, query.place), query.head) += biased_gradient;
      const std::int64_t key = query.first_key + j;
      if (dq_) add_scaled(&dq_(query.row, query.first_col), score_gradient, &k_(key, query.first_col), width_);
      if (dk_) add_scaled(&dk_(key, query.first_col), score_gradient, &q_(query.row, query.first_col), width_);
    }
  }

 private:
  const ops::AttentionArguments& forward_;
  Matrix q_, k_, v_, probabilities_, dy_, dq_, dk_, dv_, dbias_, dweights_;
  std::int64_t width_;
  double scale_;
  std::vector<double> weight_gradients_;
};

/// Returns the columns of a row starting at `col`. A row that is not F64 is converted into `buffer`, which has the
/// required size.
const double* wide_row(const Tensor& pool, std::int64_t row, std::int64_t col, std::vector<double>& buffer) {
  if (pool.dtype == tensor::DType::kF64) return pool.row<double>(row) + col;
  for (std::size_t i = 0; i < buffer.size(); ++i)
    buffer[i] = tensor::element(pool, row, col + static_cast<std::int64_t>(i));
  return buffer.data();
}

}  // namespace

template <>
void kernel(Context&, const ops::AttentionArguments& arguments) {
  const Matrix q(arguments.q, "attention");
  const Matrix k(arguments.k, "attention");
  const Matrix v(arguments.v, "attention");
  const Matrix probabilities(arguments.probabilities, "attention");
  const Matrix y(arguments.y, "attention");
  const Matrix bias(arguments.bias, "attention");
  const std::int64_t width = q.cols() / arguments.heads;
  const double scale = ops::score_scale<double>(arguments.scale, width);
  std::vector<double> weights;
  y.fill(0);
  for_each_query(arguments, [&](const Query& query) {
    weights.clear();
    for (std::int64_t j = 0; j < query.visible; ++j)
      weights.push_back(scale * dot(&q(query.row, query.first_col), &k(query.first_key + j, query.first_col), width) +
                        (bias ? bias(bias_row(bias, j, query.place), query.head) : 0));
    softmax_in_place(weights);
    weights.resize(static_cast<std::size_t>(query.keys), 0);
    for (std::int64_t j = 0; j < query.keys; ++j) {
      const double weight = weights[static_cast<std::size_t>(j)];
      if (probabilities) probabilities(0, query.first_weight + j) = weight;
      const double keep = dropout_factor(arguments.rate, arguments.random, query.first_weight + j);
      if (j < query.visible)
        add_scaled(&y(query.row, query.first_col), keep * weight, &v(query.first_key + j, query.first_col), width);
    }
  });
}

template <>
void kernel(Context&, const ops::AttentionBackwardArguments& arguments) {
  for_each_query(arguments.forward, QueryBackward(arguments));
}

template <>
void kernel(Context&, const ops::CachedAttentionArguments& arguments) {
  const Matrix q(arguments.q, "cached_attention");
  const Matrix probabilities(arguments.probabilities, "cached_attention");
  const Matrix y(arguments.y, "cached_attention");
  const Matrix bias(arguments.bias, "cached_attention");
  const std::int64_t width = q.cols() / arguments.heads;
  const double scale = ops::score_scale<double>(arguments.scale, width);
  std::vector<double> weights;
  std::vector<double> cached(static_cast<std::size_t>(width));
  y.fill(0);
  for (std::int64_t r = 0; r < q.rows(); ++r) {
    const ops::KeyRange& range = arguments.ranges[r];
    const auto row_of = [&](const Tensor& pool, std::int64_t j, std::int64_t h) {
      return wide_row(pool, arguments.key_rows[range.begin + j], h * width, cached);
    };
    for (std::int64_t h = 0; h < arguments.heads; ++h) {
      weights.clear();
      for (std::int64_t j = 0; j < range.count; ++j)
        weights.push_back(scale * dot(&q(r, h * width), row_of(arguments.keys, j, h), width) +
                          (bias ? bias(bias_row(bias, j, range.count - 1), h) : 0));
      softmax_in_place(weights);
      for (std::int64_t j = 0; j < range.count; ++j) {
        const double weight = weights[static_cast<std::size_t>(j)];
        if (probabilities) probabilities(r, h * range.count + j) = weight;
        add_scaled(&y(r, h * width), weight, row_of(arguments.values, j, h), width);
      }
    }
  }
}

}  // namespace dragoman::backend::reference
