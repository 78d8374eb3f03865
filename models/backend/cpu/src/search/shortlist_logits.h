#pragma once

#include "simd/rounding.h"
#include "top_k.h"

#include <cstdint>
#include <span>

#include <dragoman/ops/project_shortlist_top_k.h>

namespace dragoman::backend::cpu {

/// Converts a row of a product to logits in place, like take_panel(): dequantises and adds the bias (nullptr: none).
void make_logits(const Dequantization& dequantization, const float* bias, std::int64_t count, float* product);

/// The logits of the tokens in a row's shortlist, before edits and temperature. They are changed in place.
struct ShortlistRow {
  float* logits = nullptr;
  std::span<const std::int32_t> tokens;  ///< ascending
  std::span<const ops::LogitEdit> edits;
  float inverse_temperature = 1;
  const ops::RowNoise* noise = nullptr;  ///< nullptr: no noise
  std::int64_t vocabulary = 0;
  std::int64_t panel_width = 0;  ///< of take_panel()'s panels
  std::int64_t k = 0;
};

/// Changes `state` exactly as take_panel() would for all panels if the logits of all other tokens were -infinity.
void take_shortlist(const ShortlistRow& row, RowState& state);

}  // namespace dragoman::backend::cpu
