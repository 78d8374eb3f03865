#pragma once

#include <cstdint>
#include <vector>

#include <dragoman/backend_cpu/install.h>
#include <dragoman/core/parallel.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tensor/packed_weight.h>

namespace dragoman::backend::cpu {

using tensor::Tensor;

/// Normally distributed floats, the same for the same seed.
std::vector<float> random_floats(std::int64_t count, std::uint64_t seed);

/// A matrix in memory of its own. Rows lie `gap` elements further apart than they are long; the gaps hold NaN, so that
/// reading them shows.
class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t cols, std::int64_t gap = 0);
  Matrix(std::int64_t rows, std::int64_t cols, const std::vector<float>& values, std::int64_t gap = 0);

  operator Tensor();                                         // NOLINT: a matrix is used as its view
  operator tensor::StoredMatrix() { return Tensor(*this); }  // NOLINT: as above
  float& at(std::int64_t row, std::int64_t col) { return data_[static_cast<std::size_t>(row * stride_ + col)]; }
  /// The elements without the gaps.
  std::vector<float> values();
  /// True if no kernel wrote into a gap.
  bool gaps_untouched();

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t stride_;
  std::vector<float> data_;
};

/// Values as kernels read them.
template <class T>
tensor::DeviceArray<T> array(const std::vector<T>& values) {
  return {values.data(), static_cast<std::int64_t>(values.size())};
}
Tensor doubles(std::vector<double>& values);

/// A context of the CPU backend with `threads` threads.
class Rig {
 public:
  explicit Rig(int threads = 1);
  tensor::Context& context() { return context_; }
  template <class Key, class Arguments>
  auto run(Key key, const Arguments& arguments) {
    return context_.kernels().get(key)(context_, arguments);
  }

 private:
  tensor::KernelTable table_;
  std::unique_ptr<core::Executor> executor_;
  tensor::Context context_;
};

/// Holds the kernels to a level for the lifetime of the object. oneDNN keeps the level that it started with.
class LevelScope {
 public:
  explicit LevelScope(SimdLevel level) {
    simd_level();  // oneDNN chooses its own level here, before it can be held down for all tests that follow
    limit_simd(level);
  }
  ~LevelScope() { limit_simd(SimdLevel::kBest); }
};

inline constexpr SimdLevel kAllLevels[] = {SimdLevel::kBest, SimdLevel::kAvx2, SimdLevel::kBaseline};

}  // namespace dragoman::backend::cpu
