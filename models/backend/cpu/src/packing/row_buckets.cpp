#include "row_buckets.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include <dragoman/tensor/dtype.h>

namespace dragoman::backend::cpu {
namespace {

using onednn::Layout;

// Row counts that padding rounds up to, at most a third more than the rows. None is above 256, because AVX2 kernels
// were observed to change their order of summation there.
constexpr std::array<std::int64_t, 14> kBuckets = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};
constexpr std::int64_t kReferenceBucket = 64;

/// Returns cheap pseudo-random values between -1 and 1 for the probe. Their only required property is that sums of them
/// round.
std::vector<float> noise(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = seed;
  for (float& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
  }
  return values;
}

/// Converts floats to elements of a product whose sums round.
std::vector<std::byte> as_elements(GemmElements elements, const std::vector<float>& values) {
  const auto floats = std::as_bytes(std::span(values));
  if (elements == GemmElements::kF32) return {floats.begin(), floats.end()};
  std::vector<std::byte> bytes(values.size() * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = tensor::f32_to_bf16(values[i]);
    std::memcpy(bytes.data() + i * sizeof bits, &bits, sizeof bits);
  }
  return bytes;
}

/// Multiplies rows in products of several sizes, reusing its memory.
class RowProbe {
 public:
  RowProbe(const WeightShape& shape, const dnnl::memory& weights)
      : shape_(shape),
        weights_(weights),
        count_(std::clamp<std::int64_t>((kEnoughSums + shape.outputs - 1) / shape.outputs, 1, kMaxRows)),
        rows_(as_elements(shape.elements, noise(count_ * shape.inputs, 1))) {}

  /// Returns the results of all rows, end to end. Returns an empty vector if a row differs between products of `size`
  /// rows or between positions.
  std::vector<float> results(std::int64_t size) {
    std::vector<float> found(static_cast<std::size_t>(count_ * shape_.outputs));
    std::vector<bool> known(static_cast<std::size_t>(count_));
    const std::int64_t products = std::max((count_ + size - 1) / size, rows_per_place());
    for (std::int64_t product = 0; product < products; ++product) {
      const std::int64_t first = size < count_ ? product * size : product;
      multiply(size, first);
      for (std::int64_t place = 0; place < size; ++place) {
        const auto row = static_cast<std::size_t>((first + place) % count_);
        float* expected = found.data() + row * static_cast<std::size_t>(shape_.outputs);
        const float* actual = y_.data() + place * shape_.outputs;
        if (!known[row]) std::copy_n(actual, shape_.outputs, expected);
        if (std::memcmp(actual, expected, static_cast<std::size_t>(shape_.outputs) * sizeof(float)) != 0) return {};
        known[row] = true;
      }
    }
    return found;
  }

 private:
  /// The number of sums. Two orders of summation often round to the same bits, so some thousand sums are compared.
  static constexpr std::int64_t kEnoughSums = 4096;
  static constexpr std::int64_t kMaxRows = 256;

  /// Kernels process the last few columns and rows separately. This number of rows gives some dozens of sums of them at
  /// each position.
  std::int64_t rows_per_place() const {
    constexpr std::int64_t kColumns = 16;
    constexpr std::int64_t kSums = 64;
    constexpr std::int64_t kFewest = 4;
    const std::int64_t last_columns = (shape_.outputs - 1) % kColumns + 1;
    return std::min(count_, std::max(kFewest, kSums / last_columns));
  }

  /// Computes y_, the product of `size` rows starting with row `first`.
  void multiply(std::int64_t size, std::int64_t first) {
    const std::size_t width = rows_.size() / static_cast<std::size_t>(count_);
    x_.resize(static_cast<std::size_t>(size) * width);
    y_.resize(static_cast<std::size_t>(size * shape_.outputs));
    for (std::int64_t place = 0; place < size; ++place)
      std::copy_n(
          rows_.begin() + static_cast<std::ptrdiff_t>(((first + place) % count_)) * static_cast<std::ptrdiff_t>(width),
          width, x_.begin() + place * static_cast<std::ptrdiff_t>(width));
    fixed_shape_matmul(shape_, weights_, x_.data(), size, y_.data());
  }

  const WeightShape& shape_;
  const dnnl::memory& weights_;
  std::int64_t count_;
  std::vector<std::byte> rows_;
  std::vector<std::byte> x_;
  std::vector<float> y_;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// A single row can be multiplied in any layout.
bool multiplies_in(const Layout& layout, const WeightShape& shape, std::int64_t rows) {
  return rows == 1 || preferred_layout(shape, rows) == layout;
}

/// Returns the buckets of a product with exact sums, which needs no probe.
std::vector<std::int64_t> buckets_of_layout(const Layout& layout, const WeightShape& shape) {
  std::vector<std::int64_t> buckets;
  std::ranges::copy_if(kBuckets, std::back_inserter(buckets),
                       [&](std::int64_t rows) { return multiplies_in(layout, shape, rows); });
  return buckets;
}

/// Returns the largest set of buckets in which one row has the same bits at all positions. If the reference bucket
/// itself fails, smaller ones are tried. A single row always agrees with itself.
std::vector<std::int64_t> stable_buckets(const WeightShape& shape, const dnnl::memory& weights) {
  RowProbe probe(shape, weights);
  std::vector<std::vector<float>> results;
  for (const std::int64_t rows : kBuckets)
    results.push_back(multiplies_in(weights.get_desc(), shape, rows) ? probe.results(rows) : std::vector<float>());
  auto reference = static_cast<std::size_t>(std::ranges::find(kBuckets, kReferenceBucket) - kBuckets.begin());
  while (results[reference].empty()) --reference;
  std::vector<std::int64_t> stable;
  for (std::size_t i = 0; i < kBuckets.size(); ++i)
    if (same_bits(results[i], results[reference])) stable.push_back(kBuckets[i]);
  return stable;
}

PackedShape probe(const WeightShape& shape) {
  onednn::require_memory_for_code();
  return onednn::on_one_thread([&] {
    const Layout layout = preferred_layout(shape, kReferenceBucket);
    if (shape.elements == GemmElements::kI8) return PackedShape{layout, buckets_of_layout(layout, shape)};
    const std::vector<std::byte> weight = as_elements(shape.elements, noise(shape.outputs * shape.inputs, 99));
    const dnnl::memory packed = pack(shape, weight.data(), shape.inputs, dnnl::memory(layout, onednn::cpu_engine()));
    return PackedShape{layout, stable_buckets(shape, packed)};
  });
}

}  // namespace

const PackedShape& packed_shape(const WeightShape& shape) {
  static std::mutex mutex;
  static std::map<WeightShape, PackedShape> known;
  const std::scoped_lock lock(mutex);
  const auto found = known.find(shape);
  if (found != known.end()) return found->second;
  PackedShape probed = onednn::translating_errors([&] { return probe(shape); });
  return known.emplace(shape, std::move(probed)).first->second;
}

}  // namespace dragoman::backend::cpu
