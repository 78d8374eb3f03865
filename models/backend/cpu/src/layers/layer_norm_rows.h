#pragma once

#include "training/dropout_mask.h"

#include <dragoman/autograd/variable.h>

namespace dragoman::backend::cpu {

/// Layer normalisation of `sum`, optionally with the residual connection before it. An empty `residual` means that
/// `sum` is an input.
struct LayerNormRows {
  tensor::Tensor residual;
  tensor::Tensor x;
  DropoutMask mask;
  tensor::Tensor sum;
  tensor::Tensor gain;
  tensor::Tensor bias;
  double epsilon;
  tensor::Tensor y;
  tensor::Tensor mean;
  tensor::Tensor inverse_deviation;
  bool centred = true;  ///< false: the mean is taken as 0, and there is no bias
};

/// The gradients of LayerNormRows. Without a residual connection, `dsum` and `dx` are empty and `dresidual` is the
/// gradient of the input. Without a mean, the mean and its part of the gradient are 0.
struct LayerNormBackwardRows {
  tensor::Tensor sum;
  tensor::Tensor gain;
  tensor::Tensor mean;
  tensor::Tensor inverse_deviation;
  tensor::Tensor dy;
  tensor::Tensor dsum;
  autograd::GradientTarget dresidual;
  autograd::GradientTarget dx;
  DropoutMask mask;
};

}  // namespace dragoman::backend::cpu
