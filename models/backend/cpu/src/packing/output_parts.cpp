#include "output_parts.h"

#include "packed_layout.h"
#include "probe_matrix.h"
#include "row_buckets.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace dragoman::backend::cpu {
namespace {

/// The row count for which layouts are chosen. Whole weights must use the same one, because a part and a whole weight
/// may have the same shape.
constexpr std::int64_t kRowsOfLayout = 64;

/// Returns the number of outputs in one block, which cannot be separated.
std::int64_t block_outputs(const Blocks& blocks) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < blocks.sizes.size(); ++i)
    if (static_cast<std::size_t>(blocks.dimensions[i]) == kOutputs) count *= blocks.sizes[i];
  return count;
}

class Parts final : public OutputParts {
 public:
  /// Returns nullptr if output_parts() does.
  static std::unique_ptr<Parts> make(const WeightShape& shape) {
    const onednn::Layout& whole = packed_shape(shape).layout;
    const Blocks blocks = blocks_of(whole);
    const std::size_t bytes = element_bytes(shape.elements);
    if (shape.elements == GemmElements::kI8 || !holds_elements_only(whole, blocks, bytes)) return nullptr;
    const std::int64_t unit = block_outputs(blocks);
    if (kWidth % unit != 0 || shape.outputs <= kWidth || blocks.padded[kInputs] != shape.inputs) return nullptr;
    auto parts = std::unique_ptr<Parts>(new Parts(shape));
    parts->step_ = distance(blocks, kOutputs, kWidth) * bytes;
    const std::int64_t rest = (shape.outputs - 1) % kWidth + 1;
    parts->last_outputs_ = (rest + unit - 1) / unit * unit;
    parts->layout_ = preferred_layout(parts->shape_of(kWidth), kRowsOfLayout);
    parts->last_layout_ = preferred_layout(parts->shape_of(parts->last_outputs_), kRowsOfLayout);
    const bool fit =
        lies_in(parts->layout_, blocks, kWidth) && lies_in(parts->last_layout_, blocks, parts->last_outputs_);
    return fit ? std::move(parts) : nullptr;
  }

  bool keep_bits(std::int64_t rows) override {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(rows);
    if (found != known_.end()) return found->second;
    return known_.emplace(rows, probe(rows)).first->second;
  }

  OutputPart part(std::int64_t first) const override {
    const bool last = first + kWidth >= shape_.outputs;
    return {shape_of(last ? last_outputs_ : kWidth), last ? &last_layout_ : &layout_,
            static_cast<std::size_t>(first / kWidth) * step_};
  }

 private:
  explicit Parts(const WeightShape& shape) : shape_(shape) {}

  WeightShape shape_of(std::int64_t outputs) const { return {shape_.elements, outputs, shape_.inputs}; }

  /// Returns true if a weight of `outputs` has the same packing as this many outputs of the whole. Padding would be
  /// overwritten.
  static bool lies_in(const onednn::Layout& layout, const Blocks& whole, std::int64_t outputs) {
    const Blocks blocks = blocks_of(layout);
    if (blocks.strides.empty() || blocks.sizes != whole.sizes || blocks.dimensions != whole.dimensions) return false;
    if (blocks.padded[kInputs] != whole.padded[kInputs] || blocks.padded[kOutputs] != outputs) return false;
    const bool one_block = outputs == block_outputs(whole);
    return blocks.strides[kInputs] == whole.strides[kInputs] &&
           (one_block || blocks.strides[kOutputs] == whole.strides[kOutputs]);
  }

  /// Compares some thousand sums, because two orders of summation often round to the same bits.
  bool probe(std::int64_t rows) const {
    constexpr std::int64_t kEnoughSums = 4096;
    const ProbeMatrix whole(shape_.elements, shape_.outputs, shape_.inputs,
                            probe_values(shape_.elements, shape_.outputs * shape_.inputs, 11).data());
    const std::int64_t products = std::max<std::int64_t>(1, kEnoughSums / (rows * shape_.outputs));
    for (std::int64_t i = 0; i < products; ++i)
      if (!same_bits(whole.matrix, rows, static_cast<std::uint32_t>(i + 1))) return false;
    return true;
  }

  bool same_bits(const PackedMatrix& whole, std::int64_t rows, std::uint32_t seed) const {
    const std::vector<std::byte> x = probe_values(shape_.elements, rows * shape_.inputs, seed);
    const std::vector<float> expected = product_of(whole, x, rows);
    std::vector<float> found;
    for (std::int64_t first = 0; first < shape_.outputs; first += kWidth) {
      const OutputPart some = part(first);
      found.resize(static_cast<std::size_t>(rows * some.shape.outputs));
      fixed_shape_matmul(some.shape, *some.layout, static_cast<const std::byte*>(whole.storage()) + some.offset,
                         x.data(), rows, found.data());
      const auto bytes = static_cast<std::size_t>(std::min(kWidth, shape_.outputs - first)) * sizeof(float);
      for (std::int64_t r = 0; r < rows; ++r)
        if (std::memcmp(found.data() + r * some.shape.outputs, expected.data() + r * shape_.outputs + first, bytes) !=
            0)
          return false;
    }
    return true;
  }

  WeightShape shape_;
  std::size_t step_ = 0;  ///< bytes from one part to the next
  std::int64_t last_outputs_ = 0;
  onednn::Layout layout_;
  onednn::Layout last_layout_;
  std::mutex mutex_;
  std::map<std::int64_t, bool> known_;  ///< by the number of rows
};

}  // namespace

OutputParts* output_parts(const WeightShape& shape) {
  static std::mutex mutex;
  static std::map<WeightShape, std::unique_ptr<Parts>> known;
  const std::scoped_lock lock(mutex);
  const auto found = known.find(shape);
  if (found != known.end()) return found->second.get();
  auto parts = onednn::translating_errors([&] { return Parts::make(shape); });
  return known.emplace(shape, std::move(parts)).first->second.get();
}

}  // namespace dragoman::backend::cpu
