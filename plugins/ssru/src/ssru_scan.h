#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ssru {

using autograd::GradientTarget;
using autograd::Variable;
using ops::Offsets;
using tensor::Context;
using tensor::KernelKey;
using tensor::Tensor;

/// The recurrence of the simpler simple recurrent unit (Kim et al. 2019, "From Research to Production and Back:
/// Ludicrously Fast Neural Machine Translation", sec. 3.1), within each ragged sequence:
///
///     c_t = f_t * c_{t-1} + (1 - f_t) * z_t
///
/// element by element, with z = `candidates` and f = `forget`, both [T, d]. The c before the first token of sequence b
/// is row b of `initial` [B, d], or zero if `initial` is empty. `cells` [T, d] receives c. If `latest` [B, d] is not
/// empty, its row b receives the last c of sequence b, or `initial` for a sequence without tokens.
struct ScanArguments {
  Tensor candidates;
  Tensor forget;
  Tensor initial;
  ops::DeviceIndices offsets;
  Tensor cells;
  Tensor latest;
};
inline constexpr KernelKey<void(Context&, const ScanArguments&)> kScan{"ssru.scan"};

/// The gradients of the scan with an empty `initial`. With g_t = dcells_t + f_{t+1} * g_{t+1}, computed from the end of
/// the sequence: dcandidates_t = g_t * (1 - f_t) and dforget_t = g_t * (c_{t-1} - z_t). Targets with an empty value are
/// not computed.
struct ScanBackwardArguments {
  Tensor candidates;
  Tensor forget;
  Tensor cells;
  ops::DeviceIndices offsets;
  Tensor dcells;
  GradientTarget dcandidates;
  GradientTarget dforget;
};
inline constexpr KernelKey<void(Context&, const ScanBackwardArguments&)> kScanBackward{"ssru.scan_backward"};

struct ScanResult {
  Variable cells;  ///< [T, d]
  Tensor latest;   ///< [B, d] in step memory, or empty if there was no `initial`
};

/// `initial` is [B, d] in stepping, and empty (zeros) in teacher forcing. There is no gradient through `initial`.
ScanResult scan(Context& context, const Variable& candidates, const Variable& forget, const Tensor& initial,
                const Offsets& offsets);

}  // namespace dragoman::ssru
