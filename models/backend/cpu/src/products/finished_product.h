#pragma once

#include "layers/bias_activation.h"
#include "packing/packed_weight.h"

#include <cstdint>

namespace dragoman::backend::cpu {

/// y = activation(x * panel^T + bias) for any number of rows, with the bits of multiply_rows() and
/// bias_activation_rows().
/// `finish` describes all rows of y; its x is ignored. Sums are finished while they are in a cache, as far as the
/// kernel allows. `scratch` has multiply_scratch() floats.
void multiply_and_finish(const Panel& panel, const FloatRows& x, const BiasActivation& finish, float* scratch);

/// Like the function above, for the int8 rows of multiply_numbers().
void multiply_and_finish(const Panel& panel, std::uint8_t* x, const float* scales, const BiasActivation& finish,
                         float* scratch);

}  // namespace dragoman::backend::cpu
