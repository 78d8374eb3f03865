#pragma once

#include "simd/rounding.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include <dragoman/ops/project_top_k.h>

namespace dragoman::backend::cpu {

/// The number of tokens whose noise is estimated at a time, against one threshold.
inline constexpr std::int64_t kNoiseChunk = 256;

/// A token that may be among the best. `score` is its edited, tempered logit. Candidates are ranked by `key`, the score
/// plus noise.
struct Candidate {
  double key;
  float score;
  std::int32_t token;
};

/// Ranks by descending key, then by ascending token.
inline bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.key != b.key ? a.key > b.key : a.token < b.token;
}

/// The state of one row while its logits are processed panel by panel: the k best candidates so far (a heap with the
/// worst on top), and the running log-sum-exp.
struct RowState {
  Candidate* candidates = nullptr;
  std::int64_t count = 0;
  double maximum = 0;
  double sum = 0;  ///< of exp(score - maximum); 0: no panel yet
};

/// The logits of one row in one panel, before bias, edits and temperature. They are changed in place.
struct PanelRow {
  float* logits = nullptr;
  Dequantization dequantization{};  ///< of a product that is not yet dequantised
  const float* bias = nullptr;      ///< nullptr: no bias
  std::int64_t first_token = 0;
  std::int64_t count = 0;
  std::span<const std::int32_t> shortlist;  ///< the row's shortlist; empty: all tokens
  std::span<const ops::LogitEdit> edits;    ///< the edits of this row and panel
  float inverse_temperature = 1;
  const ops::RowNoise* noise = nullptr;  ///< nullptr: no noise
  std::int64_t vocabulary = 0;
  std::int64_t k = 0;
};

/// Adds one panel to the state. The result depends only on the row's logits and the order of the panels.
void take_panel(const PanelRow& panel, RowState& state);

/// The parts of take_panel(), for panels with another layout. This function maps NaN to -infinity, because NaN would
/// break the order of the heap.
inline float ordered(float score) {
  return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
}
/// Adds a candidate if there are fewer than k. Otherwise it replaces the worst candidate if it ranks before that one.
void offer(const Candidate& candidate, std::int64_t k, RowState& state);
/// Adds the next panel's `sum` of exp(logit - maximum). `maximum` is the panel's largest logit and above -infinity.
void add_panel_sum(float maximum, float sum, RowState& state);

/// Adds the state that was computed from the next panel alone.
void add_panel(const RowState& panel, std::int64_t k, RowState& state);

/// Sorts the candidates, best first, and stores them with their log probabilities.
void finish_row(RowState& state, std::int64_t k, bool noisy, std::int32_t* tokens, float* log_probabilities);

}  // namespace dragoman::backend::cpu
