#pragma once

#include <cstddef>
#include <cstdint>

/// Products of bytes by AVX2 alone, faster than oneDNN's and as exact.
///
/// AVX2 multiplies bytes without a sign by bytes with one and adds two neighbouring products in 16 bits (vpmaddubsw);
/// then the sums must be widened to 32 bits (vpmaddwd by ones), which is as much work again. Two such sums may be added
/// in 16 bits first if they cannot overflow, which halves the widening. Whether they can is known from the weight: with
/// numbers of x up to 127, four products cannot if the positive ones of their four weights add up to at most 255, and
/// so the negative ones. So the inputs, in groups of four, are paired when a weight is packed: for every eight outputs
/// in an order of their own, such that as many pairs as can be found are of this kind. What finds no partner is
/// multiplied in the usual way. Measured gains: docs/performance.md.
namespace dragoman::backend::cpu {

/// Of a weight [outputs, inputs].
struct PairedShape {
  std::int64_t outputs;
  std::int64_t inputs;
};

/// Whether the processor, as limit_simd() leaves it, has AVX2 and nothing better for bytes, and the shape suits.
bool has_paired_matmul(const PairedShape& shape);

/// Bytes of a packed weight.
std::size_t paired_bytes(const PairedShape& shape);
/// Packs `weight`, whose rows lie `stride` apart, into `storage` (64-byte aligned).
void pack_paired(const PairedShape& shape, const std::int8_t* weight, std::int64_t stride, void* storage);
/// A weight of zeros without pairs, which copy_paired() may fill with whatever there is.
void pack_unpaired_zeros(const PairedShape& shape, void* storage);
/// Copies one output from a packed weight to one that pack_unpaired_zeros() made, with as many inputs.
void copy_paired(const PairedShape& from_shape, const void* from, std::int64_t output, const PairedShape& to_shape,
                 void* to, std::int64_t to_output);

/// y [rows, outputs] = x [rows, inputs] * weight^T, both without gaps; numbers of x are at most 127.
void paired_matmul(const PairedShape& shape, const void* packed, const std::uint8_t* x, std::int64_t rows,
                   std::int32_t* y);

}  // namespace dragoman::backend::cpu
