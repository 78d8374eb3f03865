#include "shortlist_logits.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "search/shortlist_logits.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/dequantize-inl.h"
#include "simd/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// Computes sum_of() over `count` elements that are mostly 0. It adds only the others, by ascending index. These are
/// the additions of sum_of() in its order, without the zeros, so the bits are equal.
class SparseSum {
 public:
  explicit HWY_INLINE SparseSum(std::size_t count)
      : unrolled_(count / (4 * float_lanes()) * (4 * float_lanes())), whole_(count / float_lanes() * float_lanes()) {
    for (std::size_t part = 0; part < 4; ++part) hn::Store(zero(), FloatTag(), sums_ + part * float_lanes());
  }
  HWY_INLINE void add(std::size_t i, float term) {
    const std::size_t lanes = float_lanes();
    const std::size_t part = i < unrolled_ ? i / lanes % 4 : i < whole_ ? 0 : 1;
    sums_[part * lanes + i % lanes] += term;
  }
  HWY_INLINE float sum() const {
    const std::size_t lanes = float_lanes();
    const Floats sum01 = hn::Add(load(sums_), load(sums_ + lanes));
    const Floats sum23 = hn::Add(load(sums_ + 2 * lanes), load(sums_ + 3 * lanes));
    return hn::GetLane(hn::SumOfLanes(FloatTag(), hn::Add(sum01, sum23)));
  }

 private:
  HWY_ALIGN float sums_[4 * hn::MaxLanes(FloatTag())];
  std::size_t unrolled_;
  std::size_t whole_;
};

void make_shortlist_logits(const Dequantization& dequantization, const float* bias, std::int64_t count,
                           float* product) {
  visit_product(dequantization, [&](auto numbers) HWY_ATTR {
    for_each_vector(static_cast<std::size_t>(count), [&](std::size_t i, auto vector) HWY_ATTR {
      Floats logits = numbers.load(product, i, vector);
      if (bias != nullptr) logits = hn::Add(logits, vector.load(bias + i));
      vector.store(logits, product + i);
    });
  });
}

void temper_shortlist(float factor, std::size_t count, float* logits) {
  scale_row(factor, count, logits);
}

float maximum_of_shortlist(const float* logits, std::size_t count) {
  return max_of(logits, count);
}

/// Computes sum_of_exponentials() over tokens [first, first + width). The given tokens have logits; the logits of the
/// other tokens are -infinity.
float sum_of_shortlist(const float* logits, const std::int32_t* tokens, std::size_t count, std::int64_t first,
                       std::int64_t width, float shift) {
  SparseSum sum(static_cast<std::size_t>(width));
  HWY_ALIGN float terms[hn::MaxLanes(FloatTag())];
  for_each_vector(count, [&](std::size_t i, auto vector) HWY_ATTR {
    store(exponential_of_negative(hn::Sub(vector.load(logits + i), set(shift))), terms);
    for (std::size_t lane = 0; lane < vector.size(); ++lane)
      sum.add(static_cast<std::size_t>(tokens[i + lane] - first), terms[lane]);
  });
  return sum.sum();
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(make_shortlist_logits);
HWY_EXPORT(temper_shortlist);
HWY_EXPORT(maximum_of_shortlist);
HWY_EXPORT(sum_of_shortlist);

namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

/// Applies the edits of tokens in the shortlist. Other edits would leave -infinity unchanged.
void edit_shortlist(const ShortlistRow& row) {
  for (const ops::LogitEdit& edit : row.edits) {
    const auto found = std::ranges::lower_bound(row.tokens, edit.token);
    if (found == row.tokens.end() || *found != edit.token) continue;
    float& logit = row.logits[found - row.tokens.begin()];
    logit = ops::edited(logit, edit);
  }
}

void offer_shortlist(const ShortlistRow& row, RowState& state) {
  for (std::size_t i = 0; i < row.tokens.size(); ++i) {
    const float score = ordered(row.logits[i]);
    auto key = static_cast<double>(score);
    if (row.noise != nullptr) key += ops::gumbel_noise(*row.noise, row.vocabulary, row.tokens[i]);
    if (state.count < row.k || key >= state.candidates[0].key) offer({key, score, row.tokens[i]}, row.k, state);
  }
}

/// Fills up missing candidates with the first tokens outside the shortlist.
void offer_impossible(const ShortlistRow& row, RowState& state) {
  if (state.count == row.k && state.candidates[0].score > kImpossible) return;
  auto shortlist_columns = row.tokens.begin();
  std::int64_t offered = 0;
  for (std::int32_t token = 0; offered < row.k && token < row.vocabulary; ++token) {
    if (shortlist_columns != row.tokens.end() && *shortlist_columns == token) {
      ++shortlist_columns;
      continue;
    }
    offer({static_cast<double>(kImpossible), kImpossible, token}, row.k, state);
    ++offered;
  }
}

}  // namespace

void make_logits(const Dequantization& dequantization, const float* bias, std::int64_t count, float* product) {
  HWY_DYNAMIC_DISPATCH(make_shortlist_logits)(dequantization, bias, count, product);
}

void take_shortlist(const ShortlistRow& row, RowState& state) {
  edit_shortlist(row);
  if (row.inverse_temperature != 1.0F)
    HWY_DYNAMIC_DISPATCH(temper_shortlist)(row.inverse_temperature, row.tokens.size(), row.logits);
  for (std::size_t begin = 0; begin < row.tokens.size();) {
    const std::int64_t first = row.tokens[begin] / row.panel_width * row.panel_width;
    const std::int64_t width = std::min(row.panel_width, row.vocabulary - first);
    const auto end = static_cast<std::size_t>(std::ranges::lower_bound(row.tokens, first + width) - row.tokens.begin());
    const float* logits = row.logits + begin;
    const float maximum = HWY_DYNAMIC_DISPATCH(maximum_of_shortlist)(logits, end - begin);
    if (maximum != kImpossible)
      add_panel_sum(
          maximum,
          HWY_DYNAMIC_DISPATCH(sum_of_shortlist)(logits, row.tokens.data() + begin, end - begin, first, width, maximum),
          state);
    begin = end;
  }
  offer_shortlist(row, state);
  offer_impossible(row, state);
}

}  // namespace dragoman::backend::cpu
#endif
