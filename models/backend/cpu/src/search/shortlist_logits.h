#pragma once

#include "simd/rounding.h"
#include "top_k.h"

#include <cstdint>
#include <span>

#include <dragoman/ops/project_shortlist_top_k.h>

namespace dragoman::backend::cpu {

/// Makes logits of a row of a product in place, as take_panel() does: dequantised, with their bias (nullptr: none).
void make_logits(const Dequantization& dequantization, const float* bias, std::int64_t count, float* product);

/// Logits of the tokens that a row may choose from, without edits and temperature yet; changed in place.
struct ShortlistRow {
  float* logits = nullptr;
  std::span<const std::int32_t> tokens;  ///< rising
  std::span<const ops::LogitEdit> edits;
  float inverse_temperature = 1;
  const ops::RowNoise* noise = nullptr;  ///< nullptr: none
  std::int64_t vocabulary = 0;
  std::int64_t panel_width = 0;  ///< of take_panel()'s panels
  std::int64_t k = 0;
};

/// Changes `state` as take_panel() would for all panels if the logits of other tokens were -infinity, to the bit.
void take_shortlist(const ShortlistRow& row, RowState& state);

}  // namespace dragoman::backend::cpu
