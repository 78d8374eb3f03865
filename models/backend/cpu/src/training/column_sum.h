#pragma once

#include <cstdint>

#include <dragoman/autograd/variable.h>

namespace dragoman::backend::cpu {

/// Returns the rows per block of a reduction over `rows` rows: at most 32 partial sums, each over at least 32 rows. A
/// function of the shape alone.
std::int64_t reduction_block_rows(std::int64_t rows);

/// target (+)= the sum of `count` partial sums, which are `stride` floats apart, in their order. Has no effect for an
/// empty target.
void reduce_partials(const float* partials, std::int64_t count, std::int64_t stride,
                     const autograd::GradientTarget& target);

}  // namespace dragoman::backend::cpu
