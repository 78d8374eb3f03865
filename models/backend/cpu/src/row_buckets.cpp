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

// Row counts that padding rounds up to: at most a third more, and nothing above 256, where AVX2 kernels were seen to
// change their order of summation.
constexpr std::array<std::int64_t, 14> kBuckets = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};
constexpr std::int64_t kReferenceBucket = 64;

/// Cheap numbers between -1 and 1 for the probe; what they are does not matter, only that sums over them round.
std::vector<float> noise(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = seed;
  for (float& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
  }
  return values;
}

/// `row`, `rows` times over.
std::vector<float> repeat(const std::vector<float>& row, std::int64_t rows) {
  std::vector<float> result;
  result.reserve(row.size() * static_cast<std::size_t>(rows));
  for (std::int64_t r = 0; r < rows; ++r) result.insert(result.end(), row.begin(), row.end());
  return result;
}

/// Floats as elements of a product whose sums round.
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

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Multiplies `rows` equal rows. Gives the common row of the result, or nothing if its rows differ.
std::vector<float> common_row(const WeightShape& shape, const dnnl::memory& weights, std::int64_t rows,
                              std::uint32_t seed) {
  const std::vector<std::byte> x = as_elements(shape.elements, repeat(noise(shape.inputs, seed), rows));
  std::vector<float> y(static_cast<std::size_t>(rows * shape.outputs));
  fixed_shape_matmul(shape, weights, x.data(), rows, y.data());
  const std::vector<float> first(y.begin(), y.begin() + shape.outputs);
  return same_bits(y, repeat(first, rows)) ? first : std::vector<float>();
}

/// The common rows of several multiplications, end to end. Two orders of summation often round to the same bits, so
/// enough sums are taken that a difference shows: some thousands.
std::vector<float> common_rows(const WeightShape& shape, const dnnl::memory& weights, std::int64_t rows) {
  constexpr std::int64_t kEnoughSums = 4096;
  std::vector<float> result;
  for (std::uint32_t seed = 1;
       seed == 1 || static_cast<std::int64_t>(result.size()) < std::min(kEnoughSums, 256 * shape.outputs); ++seed) {
    const std::vector<float> row = common_row(shape, weights, rows, seed);
    if (row.empty()) return {};
    result.insert(result.end(), row.begin(), row.end());
  }
  return result;
}

/// A single row is multiplied in any layout.
bool multiplies_in(const Layout& layout, const WeightShape& shape, std::int64_t rows) {
  return rows == 1 || preferred_layout(shape, rows) == layout;
}

/// Of a product whose sums are exact, so that there is nothing to probe.
std::vector<std::int64_t> buckets_of_layout(const Layout& layout, const WeightShape& shape) {
  std::vector<std::int64_t> buckets;
  std::ranges::copy_if(kBuckets, std::back_inserter(buckets),
                       [&](std::int64_t rows) { return multiplies_in(layout, shape, rows); });
  return buckets;
}

/// The largest set of buckets that the probe finds to give one row the same bits at all places in all of them. Where
/// the reference bucket itself fails, smaller ones are tried; a single row always agrees with itself.
std::vector<std::int64_t> stable_buckets(const WeightShape& shape, const dnnl::memory& weights) {
  std::vector<std::vector<float>> results;
  for (const std::int64_t rows : kBuckets)
    results.push_back(multiplies_in(weights.get_desc(), shape, rows) ? common_rows(shape, weights, rows)
                                                                     : std::vector<float>());
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
