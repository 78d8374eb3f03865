#pragma once

#include <dragoman/tensor/context.h>

/// An op that no backend has: y = 2 x.
namespace planted {

struct TwiceArguments {
  dragoman::tensor::Tensor x;
  dragoman::tensor::Tensor y;
};
inline constexpr dragoman::tensor::KernelKey<void(dragoman::tensor::Context&, const TwiceArguments&)> kTwice{
    "planted_twice"};

}  // namespace planted
