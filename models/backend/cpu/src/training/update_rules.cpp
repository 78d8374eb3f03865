#include <algorithm>
#include <array>
#include <cmath>

#include "products/blocks.h"
#include "kernels.h"

#include <dragoman/ops/update_rules.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training/update_rules.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/vector-inl.h"

#ifndef DRAGOMAN_BACKEND_CPU_ADAFACTOR_PASS_
#define DRAGOMAN_BACKEND_CPU_ADAFACTOR_PASS_
namespace dragoman::backend::cpu {

/// Columns that one task sums.
inline constexpr std::int64_t kAdafactorColumns = 256;

/// The values that the passes of an Adafactor step share, in scratch memory.
struct AdafactorPass {
  const ops::AdafactorArguments* arguments;
  float gradient_scale;
  float decay;                ///< b in the formula
  double* row_squares;        ///< the sum of squares of each row of u
  double* parameter_squares;  ///< the sum of squares of each row of the parameters
  float* row_factors;         ///< if factored: 1 / sqrt(r_i / mean(r))
  float* column_factors;      ///< 1 / sqrt(c_j)
  float update_scale;         ///< the final factor of u
  float rate;

  bool factored() const { return arguments->second_moment.empty(); }
};

}  // namespace dragoman::backend::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

void lion_range(const ops::LionArguments& arguments, std::int64_t begin, std::int64_t end) {
  const ops::UpdateStep& now = arguments.step[0];
  const auto as_floats = [](double value) HWY_ATTR { return set(static_cast<float>(value)); };
  const Floats beta1 = as_floats(arguments.beta1);
  const Floats beta2 = as_floats(arguments.beta2);
  const Floats rest1 = as_floats(1 - arguments.beta1);
  const Floats rest2 = as_floats(1 - arguments.beta2);
  const Floats decay = as_floats(arguments.weight_decay);
  const Floats rate = as_floats(now.learning_rate);
  const Floats gradient_scale = as_floats(now.gradient_scale);
  float* parameters = arguments.parameters.as<float>() + begin;
  const float* gradients = arguments.gradients.as<float>() + begin;
  float* moment = arguments.first_moment.as<float>() + begin;
  for_each_vector(static_cast<std::size_t>(end - begin), [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats g = hn::Mul(vector.load(gradients + i), gradient_scale);
    const Floats m = vector.load(moment + i);
    const Floats p = vector.load(parameters + i);
    const Floats mixed = hn::MulAdd(beta1, m, hn::Mul(rest1, g));
    const Floats sign = hn::IfThenElse(hn::Eq(mixed, zero()), zero(), hn::CopySign(set(1.0F), mixed));
    vector.store(hn::NegMulAdd(rate, hn::MulAdd(decay, p, sign), p), parameters + i);
    vector.store(hn::MulAdd(beta2, m, hn::Mul(rest2, g)), moment + i);
  });
}

void sgd_range(const ops::SgdArguments& arguments, std::int64_t begin, std::int64_t end) {
  const ops::UpdateStep& now = arguments.step[0];
  const Floats momentum = set(static_cast<float>(arguments.momentum));
  const Floats decay = set(static_cast<float>(arguments.weight_decay));
  const Floats rate = set(static_cast<float>(now.learning_rate));
  const Floats gradient_scale = set(static_cast<float>(now.gradient_scale));
  float* parameters = arguments.parameters.as<float>() + begin;
  const float* gradients = arguments.gradients.as<float>() + begin;
  const bool has_momentum = !arguments.first_moment.empty();
  float* moment = has_momentum ? arguments.first_moment.as<float>() + begin : nullptr;
  for_each_vector(static_cast<std::size_t>(end - begin), [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats p = vector.load(parameters + i);
    const Floats g = hn::MulAdd(decay, p, hn::Mul(vector.load(gradients + i), gradient_scale));
    Floats direction = g;
    if (has_momentum) {
      const Floats m = hn::MulAdd(momentum, vector.load(moment + i), g);
      vector.store(m, moment + i);
      direction = arguments.nesterov ? hn::MulAdd(momentum, m, g) : m;
    }
    vector.store(hn::NegMulAdd(rate, direction, p), parameters + i);
  });
}

void clip_values_range(float* x, std::size_t count, float limit) {
  for_each_vector(count, [&](std::size_t i, auto vector) HWY_ATTR {
    vector.store(hn::Min(hn::Max(vector.load(x + i), set(-limit)), set(limit)), x + i);
  });
}

HWY_INLINE double squares_of(const float* x, std::size_t count, float factor) {
  return static_cast<double>(sum_of(count, [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats value = hn::Mul(vector.load(x + i), set(factor));
    return hn::Mul(value, value);
  }));
}

/// Computes the second moments of rows and the magnitude of the parameters.
void adafactor_rows(const AdafactorPass& pass, std::int64_t begin, std::int64_t end) {
  const ops::AdafactorArguments& arguments = *pass.arguments;
  const auto cols = static_cast<std::size_t>(arguments.parameters.cols);
  const auto epsilon = static_cast<float>(arguments.square_epsilon);
  const float rest = 1 - pass.decay;
  for (std::int64_t row = begin; row < end; ++row) {
    const float* gradients = arguments.gradients.row<float>(row);
    pass.parameter_squares[row] = squares_of(arguments.parameters.row<float>(row), cols, 1);
    if (pass.factored()) {
      const double mean = squares_of(gradients, cols, pass.gradient_scale) / static_cast<double>(cols);
      float& moment = arguments.row_moment.as<float>()[row];
      moment = pass.decay * moment + rest * (static_cast<float>(mean) + epsilon);
      continue;
    }
    float* moments = arguments.second_moment.row<float>(row);
    for_each_vector(cols, [&](std::size_t j, auto vector) HWY_ATTR {
      const Floats g = hn::Mul(vector.load(gradients + j), set(pass.gradient_scale));
      const Floats square = hn::Mul(set(rest), hn::MulAdd(g, g, set(epsilon)));
      vector.store(hn::MulAdd(set(pass.decay), vector.load(moments + j), square), moments + j);
    });
  }
}

/// Computes the second moments of columns [begin, end), at most kAdafactorColumns.
void adafactor_columns(const AdafactorPass& pass, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kRowsInFloat = 64;  // few enough for single precision to lose nothing significant
  const ops::AdafactorArguments& arguments = *pass.arguments;
  const std::int64_t rows = arguments.parameters.rows;
  const auto cols = static_cast<std::size_t>(end - begin);
  std::array<double, kAdafactorColumns> sums{};
  HWY_ALIGN std::array<float, kAdafactorColumns> part;
  for (std::int64_t first = 0; first < rows; first += kRowsInFloat) {
    part.fill(0);
    for (std::int64_t row = first; row < std::min(rows, first + kRowsInFloat); ++row) {
      const float* gradients = arguments.gradients.row<float>(row) + begin;
      for_each_vector(cols, [&](std::size_t j, auto vector) HWY_ATTR {
        const Floats g = hn::Mul(vector.load(gradients + j), set(pass.gradient_scale));
        vector.store(hn::MulAdd(g, g, vector.load(part.data() + j)), part.data() + j);
      });
    }
    for (std::size_t j = 0; j < cols; ++j) sums[j] += static_cast<double>(part[j]);
  }
  float* moments = arguments.column_moment.as<float>() + begin;
  for (std::size_t j = 0; j < cols; ++j) {
    const auto mean = static_cast<float>(sums[j] / static_cast<double>(rows));
    moments[j] = pass.decay * moments[j] + (1 - pass.decay) * (mean + static_cast<float>(arguments.square_epsilon));
    pass.column_factors[begin + static_cast<std::int64_t>(j)] = 1 / std::sqrt(moments[j]);
  }
}

/// Calls body(first column, vector, u) along a row, with u of the formula before clipping.
template <class Body>
HWY_INLINE void for_each_update(const AdafactorPass& pass, std::int64_t row, const Body& body) {
  const ops::AdafactorArguments& arguments = *pass.arguments;
  const auto cols = static_cast<std::size_t>(arguments.parameters.cols);
  const float* gradients = arguments.gradients.row<float>(row);
  const Floats gradient_scale = set(pass.gradient_scale);
  if (!pass.factored()) {
    const float* moments = arguments.second_moment.row<float>(row);
    for_each_vector(cols, [&](std::size_t j, auto vector) HWY_ATTR {
      const Floats root = hn::Sqrt(vector.load_or(moments + j, 1));
      body(j, vector, hn::Div(hn::Mul(vector.load(gradients + j), gradient_scale), root));
    });
    return;
  }
  const Floats row_factor = set(pass.row_factors[row]);
  for_each_vector(cols, [&](std::size_t j, auto vector) HWY_ATTR {
    const Floats g = hn::Mul(vector.load(gradients + j), gradient_scale);
    body(j, vector, hn::Mul(hn::Mul(g, vector.load(pass.column_factors + j)), row_factor));
  });
}

void adafactor_update_squares(const AdafactorPass& pass, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    Floats sum = zero();
    for_each_update(pass, row, [&](std::size_t, auto vector, Floats u) HWY_ATTR {
      sum = hn::Add(sum, vector.keep(hn::Mul(u, u)));
    });
    pass.row_squares[row] = static_cast<double>(hn::GetLane(hn::SumOfLanes(FloatTag(), sum)));
  }
}

void adafactor_apply(const AdafactorPass& pass, std::int64_t begin, std::int64_t end) {
  const Floats decay = set(static_cast<float>(pass.arguments->weight_decay));
  const Floats scale = set(pass.update_scale);
  const Floats rate = set(pass.rate);
  for (std::int64_t row = begin; row < end; ++row) {
    float* parameters = pass.arguments->parameters.row<float>(row);
    for_each_update(pass, row, [&](std::size_t j, auto vector, Floats u) HWY_ATTR {
      const Floats p = vector.load(parameters + j);
      vector.store(hn::NegMulAdd(rate, hn::MulAdd(decay, p, hn::Mul(u, scale)), p), parameters + j);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(lion_range);
HWY_EXPORT(sgd_range);
HWY_EXPORT(clip_values_range);
HWY_EXPORT(adafactor_rows);
HWY_EXPORT(adafactor_columns);
HWY_EXPORT(adafactor_update_squares);
HWY_EXPORT(adafactor_apply);

template <>
void kernel(Context& context, const ops::LionArguments& arguments) {
  if (arguments.step[0].skip != 0) return;
  core::for_each_range(context.executor(), arguments.parameters.size(), kBlockElements,
                       [&](std::int64_t begin, std::int64_t end) {
                         HWY_DYNAMIC_DISPATCH(lion_range)(arguments, begin, end);
                       });
}

template <>
void kernel(Context& context, const ops::SgdArguments& arguments) {
  if (arguments.step[0].skip != 0) return;
  core::for_each_range(context.executor(), arguments.parameters.size(), kBlockElements,
                       [&](std::int64_t begin, std::int64_t end) {
                         HWY_DYNAMIC_DISPATCH(sgd_range)(arguments, begin, end);
                       });
}

template <>
void kernel(Context& context, const ops::ClipValuesArguments& arguments) {
  for_each_tile(context.executor(), arguments.x.rows, arguments.x.cols, [&](const Tile& tile) {
    for (std::int64_t row = tile.row_begin; row < tile.row_end; ++row) HWY_DYNAMIC_DISPATCH(clip_values_range)
    (arguments.x.row<float>(row) + tile.col_begin, tile.width(), static_cast<float>(arguments.limit));
  });
}

namespace {

template <class Number>
Number* scratch_of(Context& context, std::int64_t count) {
  return static_cast<Number*>(context.arena().allocate(static_cast<std::size_t>(count) * sizeof(Number)));
}

double root_mean(const double* row_sums, std::int64_t rows, std::int64_t cols) {
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row) sum += row_sums[row];
  return std::sqrt(sum / static_cast<double>(rows * cols));
}

void make_row_factors(const AdafactorPass& pass, std::int64_t rows) {
  const float* moments = pass.arguments->row_moment.as<float>();
  double mean = 0;
  for (std::int64_t row = 0; row < rows; ++row) mean += static_cast<double>(moments[row]) / static_cast<double>(rows);
  for (std::int64_t row = 0; row < rows; ++row)
    pass.row_factors[row] = static_cast<float>(1 / std::sqrt(static_cast<double>(moments[row]) / mean));
}

}  // namespace

template <>
void kernel(Context& context, const ops::AdafactorArguments& arguments) {
  const std::int64_t rows = arguments.parameters.rows, cols = arguments.parameters.cols;
  const ops::UpdateStep& now = arguments.step[0];
  if (now.skip != 0) return;
  const tensor::ScratchScope scratch(context.arena());
  AdafactorPass pass{.arguments = &arguments,
                     .gradient_scale = static_cast<float>(now.gradient_scale),
                     .decay = static_cast<float>(1 - std::pow(static_cast<double>(now.step), -arguments.decay_rate)),
                     .row_squares = scratch_of<double>(context, rows),
                     .parameter_squares = scratch_of<double>(context, rows),
                     .row_factors = scratch_of<float>(context, rows),
                     .column_factors = scratch_of<float>(context, cols),
                     .update_scale = 1,
                     .rate = 0};
  const auto for_rows = [&](auto&& body) {
    core::for_each_range(context.executor(), rows, rows_per_block(cols), body);
  };
  for_rows([&](std::int64_t begin, std::int64_t end) { HWY_DYNAMIC_DISPATCH(adafactor_rows)(pass, begin, end); });
  if (pass.factored()) {
    core::for_each_range(context.executor(), cols, kAdafactorColumns, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(adafactor_columns)(pass, begin, end);
    });
    make_row_factors(pass, rows);
  }
  for_rows([&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(adafactor_update_squares)(pass, begin, end);
  });
  const double size = root_mean(pass.parameter_squares, rows, cols);
  const double excess = root_mean(pass.row_squares, rows, cols) / arguments.clip_threshold;
  pass.update_scale = static_cast<float>(1 / std::max(1.0, excess));
  pass.rate = static_cast<float>(now.learning_rate *
                                 (arguments.scale_parameter ? std::max(arguments.scale_epsilon, size) : 1.0));
  for_rows([&](std::int64_t begin, std::int64_t end) { HWY_DYNAMIC_DISPATCH(adafactor_apply)(pass, begin, end); });
}

}  // namespace dragoman::backend::cpu
#endif
