#pragma once

#include <vector>

#include <dragoman/ops/kernels.h>

// The tensors that the kernels of a training step read and write, for code that inspects each of them.
namespace dragoman::training {

struct OpTensors {
  std::vector<tensor::Tensor> read;
  std::vector<tensor::Tensor> written;
};

inline OpTensors tensors_of(const ops::AddArguments& x) {
  return {{x.a, x.b}, {x.y}};
}
inline OpTensors tensors_of(const ops::AddRowArguments& x) {
  return {{x.x, x.row}, {x.y}};
}
inline OpTensors tensors_of(const ops::ScaleArguments& x) {
  return {{x.x}, {x.y}};
}
inline OpTensors tensors_of(const ops::MultiplyArguments& x) {
  return {{x.a, x.b}, {x.y}};
}
inline OpTensors tensors_of(const ops::ColumnSumArguments& x) {
  return {{x.x}, {x.y}};
}
inline OpTensors tensors_of(const ops::ActivationArguments& x) {
  return {{x.x}, {x.y}};
}
inline OpTensors tensors_of(const ops::ActivationBackwardArguments& x) {
  return {{x.x, x.y, x.dy}, {x.dx}};
}
inline OpTensors tensors_of(const ops::DropoutArguments& x) {
  return {{x.x}, {x.y}};
}
inline OpTensors tensors_of(const ops::MatMulArguments& x) {
  return {{x.a, x.b}, {x.c}};
}
inline OpTensors tensors_of(const ops::LinearArguments& x) {
  return {{x.x, x.weight, x.bias}, {x.pre_activation, x.y}};
}
inline OpTensors tensors_of(const ops::LinearBackwardArguments& x) {
  return {{x.x, x.weight, x.dy}, {x.dx.value, x.dweight.value, x.dbias.value}};
}
inline OpTensors tensors_of(const ops::DroppedLinearArguments& x) {
  return tensors_of(x.linear);
}
inline OpTensors tensors_of(const ops::DroppedLinearBackwardArguments& x) {
  return tensors_of(x.linear);
}
inline OpTensors tensors_of(const ops::LayerNormArguments& x) {
  return {{x.x, x.gain, x.bias}, {x.y}};
}
inline OpTensors tensors_of(const ops::LayerNormBackwardArguments& x) {
  return {{x.x, x.gain, x.dy}, {x.dx.value, x.dgain.value, x.dbias.value}};
}
inline OpTensors tensors_of(const ops::ResidualLayerNormArguments& x) {
  return {{x.residual, x.x, x.gain, x.bias}, {x.sum, x.y}};
}
inline OpTensors tensors_of(const ops::ResidualLayerNormBackwardArguments& x) {
  return {{x.sum, x.gain, x.dy, x.dsum}, {x.dresidual.value, x.dx.value, x.dgain.value, x.dbias.value}};
}
inline OpTensors tensors_of(const ops::SoftmaxArguments& x) {
  return {{x.x}, {x.y}};
}
inline OpTensors tensors_of(const ops::SoftmaxBackwardArguments& x) {
  return {{x.y, x.dy}, {x.dx.value}};
}
inline OpTensors tensors_of(const ops::CrossEntropyRowsArguments& x) {
  return {{}, {x.losses, x.nlls, x.logits}};
}
inline OpTensors tensors_of(const ops::ProjectionLossArguments& x) {
  return {{x.hidden, x.weight, x.bias}, {x.losses, x.nlls, x.dhidden, x.dweight.value, x.dbias.value}};
}
inline OpTensors tensors_of(const ops::AlignmentLossRowsArguments& x) {
  return {{x.weights}, {x.losses, x.gradient}};
}
inline OpTensors tensors_of(const ops::EmbeddingArguments& x) {
  return {{x.table.values, x.position_table}, {x.y}};
}
inline OpTensors tensors_of(const ops::EmbeddingBackwardArguments& x) {
  return {{x.dy}, {x.dtable.value}};
}
inline OpTensors tensors_of(const ops::AttentionArguments& x) {
  return {{x.q, x.k, x.v, x.bias}, {x.y}};
}
inline OpTensors tensors_of(const ops::AttentionBackwardArguments& x) {
  return {{x.forward.q, x.forward.k, x.forward.v, x.dy, x.dweights},
          {x.dq.value, x.dk.value, x.dv.value, x.dbias.value}};
}
inline OpTensors tensors_of(const ops::RecomputedAttentionArguments& x) {
  return {{x.forward.q, x.forward.k, x.forward.v, x.forward.bias}, {x.forward.y}};
}
inline OpTensors tensors_of(const ops::RecomputedAttentionBackwardArguments& x) {
  const ops::AttentionArguments& forward = x.forward.forward;
  return {{forward.q, forward.k, forward.v, x.dy}, {x.dq.value, x.dk.value, x.dv.value, x.dbias.value}};
}
inline OpTensors tensors_of(const ops::GatherRowsArguments& x) {
  return {{x.x}, {x.y}};
}
inline OpTensors tensors_of(const ops::ScatterRowsArguments& x) {
  return {{x.x}, {x.y}};
}

}  // namespace dragoman::training
