#include "output_copier.h"

#include "packed_layout.h"
#include "probe_matrix.h"
#include "row_buckets.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <span>
#include <tuple>

#include <dragoman/core/error.h>
#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/dtype.h>

namespace dragoman::backend::cpu {
namespace {

using onednn::Layout;

/// Returns the byte offsets along a dimension. Empty if the memory contains more than the elements, such as sums that
/// correct for signs.
std::vector<std::size_t> distances(GemmElements elements, std::int64_t inputs, std::int64_t outputs,
                                   std::size_t dimension) {
  const Layout& layout = packed_shape({elements, outputs, inputs}).layout;
  const Blocks blocks = blocks_of(layout);
  const std::size_t size = element_bytes(elements);
  if (!holds_elements_only(layout, blocks, size)) return {};
  std::vector<std::size_t> result;
  for (std::int64_t i = 0; i < (dimension == kInputs ? inputs : outputs); ++i)
    result.push_back(distance(blocks, dimension, i) * size);
  return result;
}

/// Returns the largest power of 2 such that runs of this many elements are contiguous everywhere.
std::size_t dense_run(const std::vector<std::size_t>& distances, std::size_t size) {
  std::size_t run = 1;
  const auto dense = [&](std::size_t length) {
    if (distances.size() % length != 0) return false;
    for (std::size_t i = 0; i < distances.size(); ++i)
      if (i % length != 0 && distances[i] != distances[i - 1] + size) return false;
    return true;
  };
  while (dense(2 * run)) run *= 2;
  return run;
}

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

/// Compares products before and after copying, with each output at two positions at least.
bool probe(GemmElements elements, std::int64_t inputs, std::int64_t from_outputs, std::int64_t to_outputs) {
  const OutputCopier copier(elements, inputs, from_outputs, to_outputs);
  if (!copier.possible()) return false;
  if (elements == GemmElements::kI8) return true;
  const ProbeMatrix from(elements, from_outputs, inputs, probe_values(elements, from_outputs * inputs, 7).data());
  const ProbeMatrix to(elements, to_outputs, inputs);
  std::vector<std::int64_t> common;
  std::ranges::set_intersection(from.matrix.row_buckets(), to.matrix.row_buckets(), std::back_inserter(common));
  if (common.empty()) return false;
  constexpr std::int64_t kEnoughRows = 16;
  const auto enough = std::ranges::lower_bound(common, kEnoughRows);
  const std::int64_t rows = enough != common.end() ? *enough : common.back();
  const std::vector<std::byte> x = probe_values(elements, rows * inputs, 3);
  const std::vector<float> expected = product_of(from.matrix, x, rows);
  const std::int64_t fills = 2 * ((from_outputs + to_outputs - 1) / to_outputs) + 1;
  for (std::int64_t fill = 0; fill < fills; ++fill) {
    // The odd step gives an output a different position within vectors in each round.
    const auto source = [&](std::int64_t column) { return (fill * (to_outputs / 2 + 1) + column) % from_outputs; };
    for (std::int64_t column = 0; column < to_outputs; ++column)
      copier.copy(from.matrix, source(column), to.matrix, column);
    const std::vector<float> found = product_of(to.matrix, x, rows);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t column = 0; column < to_outputs; ++column)
        if (bits_of(found[static_cast<std::size_t>(r * to_outputs + column)]) !=
            bits_of(expected[static_cast<std::size_t>(r * from_outputs + source(column))]))
          return false;
  }
  return true;
}

}  // namespace

OutputCopier::OutputCopier(GemmElements elements, std::int64_t inputs, std::int64_t from_outputs,
                           std::int64_t to_outputs) {
  if (elements == GemmElements::kI8) bytes_ = byte_matmul({from_outputs, inputs});
  if (bytes_ != nullptr) return;
  const std::size_t size = element_bytes(elements);
  const std::vector<std::size_t> from = distances(elements, inputs, from_outputs, kInputs);
  const std::vector<std::size_t> to = distances(elements, inputs, to_outputs, kInputs);
  if (from.empty() || to.empty()) return;
  const std::size_t run = std::min(dense_run(from, size), dense_run(to, size));
  run_bytes_ = run * size;
  for (std::size_t i = 0; i < from.size(); i += run) runs_.push_back({from[i], to[i]});
  from_outputs_ = distances(elements, inputs, from_outputs, kOutputs);
  to_outputs_ = distances(elements, inputs, to_outputs, kOutputs);
}

void OutputCopier::copy(const PackedMatrix& from, std::int64_t output, const PackedMatrix& to,
                        std::int64_t to_output) const {
  if (bytes_ != nullptr)
    return bytes_->copy({from.outputs(), from.inputs()}, from.storage(), output, {to.outputs(), to.inputs()},
                        to.storage(), to_output);
  const auto* source = static_cast<const std::byte*>(from.storage()) + from_outputs_[static_cast<std::size_t>(output)];
  auto* target = static_cast<std::byte*>(to.storage()) + to_outputs_[static_cast<std::size_t>(to_output)];
  constexpr std::size_t kUsualBytes = 4;  // as in the layouts for dot products of bytes and of bf16
  if (run_bytes_ == kUsualBytes)
    for (const Run& run : runs_) std::memcpy(target + run.to, source + run.from, kUsualBytes);
  else
    for (const Run& run : runs_) std::memcpy(target + run.to, source + run.from, run_bytes_);
}

bool copies_keep_bits(GemmElements elements, std::int64_t inputs, std::int64_t from_outputs, std::int64_t to_outputs) {
  static std::mutex mutex;
  static std::map<std::tuple<GemmElements, std::int64_t, std::int64_t, std::int64_t>, bool> known;
  const std::scoped_lock lock(mutex);
  const std::tuple key(elements, inputs, from_outputs, to_outputs);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known.emplace(key, probe(elements, inputs, from_outputs, to_outputs)).first->second;
}

}  // namespace dragoman::backend::cpu
