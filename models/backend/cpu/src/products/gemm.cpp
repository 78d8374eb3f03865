#include "gemm.h"

#include "fixed_shape_matmul.h"
#include "onednn.h"
#include "packing/output_parts.h"
#include "packing/row_buckets.h"
#include "simd/tile_registers.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <oneapi/dnnl/dnnl_debug.h>

namespace dragoman::backend::cpu {
namespace {

/// A single row may come with any stride, but oneDNN requires a stride that is at least the row length.
GemmArguments with_true_strides(GemmArguments arguments) {
  arguments.a_stride = std::max(arguments.a_stride, arguments.transpose_a ? arguments.m : arguments.k);
  arguments.b_stride = std::max(arguments.b_stride, arguments.transpose_b ? arguments.k : arguments.n);
  arguments.c_stride = std::max(arguments.c_stride, arguments.n);
  return arguments;
}

/// Computes the product over no elements, which oneDNN's documentation does not define.
void clear_unless_accumulating(const GemmArguments& arguments) {
  if (arguments.accumulate) return;
  for (std::int64_t i = 0; i < arguments.m; ++i) std::fill_n(arguments.c + i * arguments.c_stride, arguments.n, 0.0F);
}

static_assert(PackedMatrix::kMaxPartPadding >= OutputParts::kMaxPadding);

/// Returns the kernel that replaces oneDNN for such a weight; nullptr if there is none.
const ByteMatmul* own_matmul(GemmElements elements, std::int64_t outputs, std::int64_t inputs) {
  return elements == GemmElements::kI8 ? byte_matmul({outputs, inputs}) : nullptr;
}

/// With exact sums, every row count is stable.
std::span<const std::int64_t> all_row_counts() {
  static const auto counts = [] {
    std::array<std::int64_t, 256> rising{};
    std::iota(rising.begin(), rising.end(), 1);
    return rising;
  }();
  return counts;
}

}  // namespace

void gemm(const GemmArguments& given) {
  if (given.m == 0 || given.n == 0) return;
  if (given.k == 0) return clear_unless_accumulating(given);
  // evaluated on the first call
  [[maybe_unused]] static const bool code_fits = (onednn::require_memory_for_code(), true);
  const GemmArguments arguments = with_true_strides(given);
  onednn::on_one_thread([&] {
    onednn::check(dnnl_sgemm(arguments.transpose_a ? 'T' : 'N', arguments.transpose_b ? 'T' : 'N', arguments.m,
                             arguments.n, arguments.k, 1.0F, arguments.a, arguments.a_stride, arguments.b,
                             arguments.b_stride, arguments.accumulate ? 1.0F : 0.0F, arguments.c, arguments.c_stride),
                  "sgemm");
  });
}

struct PackedMatrix::Memory {
  dnnl::memory weights;
};

std::size_t PackedMatrix::bytes(GemmElements elements, std::int64_t outputs, std::int64_t inputs) {
  if (const ByteMatmul* own = own_matmul(elements, outputs, inputs)) return own->bytes({outputs, inputs});
  return packed_shape({elements, outputs, inputs}).layout.get_size();
}

PackedMatrix::PackedMatrix(GemmElements elements, const void* weight, std::int64_t stride, std::int64_t outputs,
                           std::int64_t inputs, void* storage)
    : elements_(elements),
      outputs_(outputs),
      inputs_(inputs),
      storage_(storage),
      bytes_(own_matmul(elements, outputs, inputs)) {
  if (bytes_ != nullptr) {
    buckets_ = all_row_counts();
    bytes_->pack(byte_shape(), static_cast<const std::int8_t*>(weight), stride, storage);
    return;
  }
  const WeightShape shape{elements, outputs, inputs};
  const PackedShape& probed = packed_shape(shape);
  buckets_ = probed.buckets;
  onednn::require_memory_for_code();
  onednn::on_one_thread([&] {
    onednn::translating_errors([&] {
      dnnl::memory packed(probed.layout, onednn::cpu_engine(), storage);
      memory_ = std::make_unique<Memory>(Memory{pack(shape, weight, stride, std::move(packed))});
    });
  });
}

PackedMatrix::PackedMatrix(GemmElements elements, std::int64_t outputs, std::int64_t inputs, void* storage)
    : elements_(elements),
      outputs_(outputs),
      inputs_(inputs),
      storage_(storage),
      bytes_(own_matmul(elements, outputs, inputs)) {
  if (bytes_ != nullptr) {
    buckets_ = all_row_counts();
    bytes_->pack_zeros(byte_shape(), storage);
    return;
  }
  const PackedShape& probed = packed_shape({elements, outputs, inputs});
  buckets_ = probed.buckets;
  std::fill_n(static_cast<std::byte*>(storage), probed.layout.get_size(), std::byte{0});
  onednn::translating_errors(
      [&] { memory_ = std::make_unique<Memory>(Memory{dnnl::memory(probed.layout, onednn::cpu_engine(), storage)}); });
}

PackedMatrix::~PackedMatrix() = default;
PackedMatrix::PackedMatrix(PackedMatrix&&) noexcept = default;
PackedMatrix& PackedMatrix::operator=(PackedMatrix&&) noexcept = default;

void PackedMatrix::multiply(const void* x, std::int64_t rows, void* y) const {
  if (bytes_ != nullptr)
    return bytes_->multiply(byte_shape(), storage_, {0, outputs_}, static_cast<const std::uint8_t*>(x), rows,
                            static_cast<std::int32_t*>(y));
  fixed_shape_matmul({elements_, outputs_, inputs_}, memory_->weights, x, rows, y);
}

void PackedMatrix::multiply_and_finish(const std::uint8_t* x, std::int64_t rows, const ByteFinish& finish) const {
  bytes_->multiply_and_finish(byte_shape(), storage_, x, rows, finish);
}

std::int64_t PackedMatrix::part_width(std::int64_t rows, std::int64_t wanted) const {
  if (bytes_ != nullptr) return (wanted + kByteOutputUnit - 1) / kByteOutputUnit * kByteOutputUnit;
  OutputParts* parts = output_parts({elements_, outputs_, inputs_});
  return parts != nullptr && parts->keep_bits(rows) ? OutputParts::kWidth : 0;
}

std::int64_t PackedMatrix::multiply_part(const OutputRange& part, const void* x, std::int64_t rows, void* y) const {
  if (bytes_ != nullptr) {
    bytes_->multiply(byte_shape(), storage_, part, static_cast<const std::uint8_t*>(x), rows,
                     static_cast<std::int32_t*>(y));
    return part.count;
  }
  const OutputPart some = output_parts({elements_, outputs_, inputs_})->part(part.first);
  fixed_shape_matmul(some.shape, *some.layout, static_cast<const std::byte*>(storage_) + some.offset, x, rows, y);
  return some.shape.outputs;
}

bool sums_bytes_exactly() {
  switch (byte_instructions()) {
    case ByteInstructions::kVnni:
    case ByteInstructions::kTiles:
    case ByteInstructions::kPlain:
      return true;
    case ByteInstructions::kAvx2:
    case ByteInstructions::kOther:
      return false;
  }
  return false;
}

// oneDNN numbers instruction sets per architecture: its AVX2 is SVE of 256 bits on aarch64.
#ifdef __x86_64__

ByteInstructions byte_instructions() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx2:
      return ByteInstructions::kAvx2;
    case dnnl::cpu_isa::avx512_core_vnni:
    case dnnl::cpu_isa::avx512_core_bf16:
#if DNNL_VERSION_MAJOR >= 3
    case dnnl::cpu_isa::avx512_core_fp16:
#endif
      return ByteInstructions::kVnni;
    case dnnl::cpu_isa::avx512_core_amx:
#if DNNL_VERSION_MAJOR >= 3
    case dnnl::cpu_isa::avx512_core_amx_fp16:
#endif
      return ByteInstructions::kTiles;
    default:
      return ByteInstructions::kOther;
  }
}

Bf16Instructions bf16_instructions() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core_amx:
#if DNNL_VERSION_MAJOR >= 3
    case dnnl::cpu_isa::avx512_core_amx_fp16:
#endif
      return may_use_tiles() ? Bf16Instructions::kTiles : Bf16Instructions::kNone;
    case dnnl::cpu_isa::avx512_core_bf16:
      return __builtin_cpu_is("amd") != 0 ? Bf16Instructions::kPairs : Bf16Instructions::kNone;
    default:
      return Bf16Instructions::kNone;
  }
}

bool limit_gemm(SimdLevel level) {
  if (level == SimdLevel::kBest) return true;
  const auto isa = level == SimdLevel::kAvx2 ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::sse41;
  return dnnl::set_max_cpu_isa(isa) == dnnl::status::success;
}

std::string gemm_level() {
  std::string name = dnnl_cpu_isa2str(static_cast<dnnl_cpu_isa_t>(dnnl::get_effective_cpu_isa()));
  const std::string prefix = "cpu_isa_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

#else

ByteInstructions byte_instructions() {
  return ByteInstructions::kPlain;
}

Bf16Instructions bf16_instructions() {
  return Bf16Instructions::kNone;
}

bool limit_gemm(SimdLevel /*level*/) {
  return true;
}

std::string gemm_level() {
  return "its kernels for this processor";
}

#endif

std::string gemm_version() {
  const dnnl::version_t& version = *dnnl::version();
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

}  // namespace dragoman::backend::cpu
