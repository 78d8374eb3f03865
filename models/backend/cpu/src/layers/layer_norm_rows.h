#pragma once

#include "training/dropout_mask.h"

#include <dragoman/autograd/variable.h>

namespace dragoman::backend::cpu {

/// Layer normalisation of `sum`, with or without the residual connection before it: an empty `residual` means that
/// `sum` is given.
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
  bool centred = true;  ///< else the mean is taken to be 0, and there is no bias
};

/// Its gradients. Without a residual connection `dsum` and `dx` are empty, and `dresidual` is the gradient of the
/// input. Without a mean it is 0, and so is its part in the gradient.
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
