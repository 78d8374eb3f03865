#pragma once

#include "simd/rounding.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include <dragoman/ops/project_top_k.h>

namespace dragoman::backend::cpu {

/// Tokens whose noise is estimated at a time, against one threshold.
inline constexpr std::int64_t kNoiseChunk = 256;

/// A token that may be among the best. `score` is its edited, tempered logit; `key` what candidates are ranked by: the
/// score plus noise.
struct Candidate {
  double key;
  float score;
  std::int32_t token;
};

/// Ranking: key falling, then token rising.
inline bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.key != b.key ? a.key > b.key : a.token < b.token;
}

/// What is known of one row while its logits pass by, panel by panel: the k best so far (a heap with the worst on top)
/// and the running log-sum-exp.
struct RowState {
  Candidate* candidates = nullptr;
  std::int64_t count = 0;
  double maximum = 0;
  double sum = 0;  ///< of exp(score - maximum); 0: nothing yet
};

/// One panel of one row's logits, before bias, edits and temperature; changed in place.
struct PanelRow {
  float* logits = nullptr;
  Dequantization dequantization{};  ///< of what is no logits yet
  const float* bias = nullptr;      ///< nullptr: none
  std::int64_t first_token = 0;
  std::int64_t count = 0;
  std::span<const std::int32_t> shortlist;  ///< tokens that the row may choose from; empty: all
  std::span<const ops::LogitEdit> edits;    ///< the edits of this row and panel
  float inverse_temperature = 1;
  const ops::RowNoise* noise = nullptr;  ///< nullptr: none
  std::int64_t vocabulary = 0;
  std::int64_t k = 0;
};

/// Takes one panel into account. The result depends on the row's logits alone, and on the order of the panels.
void take_panel(const PanelRow& panel, RowState& state);

/// What take_panel() is made of, for panels whose logits lie elsewhere. NaN must not upset the order of the heap.
inline float ordered(float score) {
  return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
}
/// Adds a candidate while there are fewer than k, else puts it in the place of the worst if it ranks before that.
void offer(const Candidate& candidate, std::int64_t k, RowState& state);
/// Adds `sum`, of exp(logit - maximum) of the next panel, of which `maximum` is the largest and above -infinity.
void add_panel_sum(float maximum, float sum, RowState& state);

/// Adds what is known of the row from the next panel alone.
void add_panel(const RowState& panel, std::int64_t k, RowState& state);

/// Sorts the candidates, best first, and stores them with their log probabilities.
void finish_row(RowState& state, std::int64_t k, bool noisy, std::int32_t* tokens, float* log_probabilities);

}  // namespace dragoman::backend::cpu
