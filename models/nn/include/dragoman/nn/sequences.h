#pragma once

#include <dragoman/ops/types.h>
#include <dragoman/tensor/ragged.h>

namespace dragoman::nn {

using tensor::Context;
using tensor::RaggedTokens;

/// The token sequences of a step, on the host and where kernels read them. The caller's memory must outlive the step.
struct Sequences {
  Sequences() = default;
  Sequences(const RaggedTokens& host_in, const ops::Indices& tokens_in, const ops::Offsets& offsets_in,
            const ops::Indices& positions_in)
      : host(host_in), tokens(tokens_in), offsets(offsets_in), positions(positions_in) {}

  RaggedTokens host;
  ops::Indices tokens;
  ops::Offsets offsets;
  /// The position of every token within its sequence or hypothesis, counted from 0.
  ops::Indices positions;
};

/// Uploads a batch, with positions that start at 0 in every sequence.
Sequences upload(Context& context, const RaggedTokens& batch);

}  // namespace dragoman::nn
