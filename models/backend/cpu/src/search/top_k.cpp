#include "top_k.h"

#include "shortlist_tokens.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "search/top_k.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/dequantize-inl.h"
#include "simd/philox-inl.h"
#include "simd/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// Converts a product to logits, in place. Stores the maxima of parts of the panel in `maxima` and returns their
/// number. It is at least k if there are enough parts, and not larger than needed for that.
std::size_t make_logits(const PanelRow& panel, float* maxima) {
  const std::size_t lanes = float_lanes();
  const auto count = static_cast<std::size_t>(panel.count);
  const Floats factor = set(panel.inverse_temperature);
  const bool tempered = panel.inverse_temperature != 1.0F && panel.edits.empty();
  const bool changes = tempered || panel.bias != nullptr || panel.dequantization;
  Floats most[4];
  for (Floats& part : most) part = set(-std::numeric_limits<float>::infinity());
  visit_product(panel.dequantization, [&](auto product) HWY_ATTR {
    const auto make = [&](std::size_t i, auto vector) HWY_ATTR {
      Floats logits = product.load(panel.logits, i, vector);
      if (panel.bias != nullptr) logits = hn::Add(logits, vector.load(panel.bias + i));
      if (tempered) logits = hn::Mul(logits, factor);
      if (changes) vector.store(logits, panel.logits + i);
      return logits;
    };
    std::size_t i = 0;
    for (; i + 4 * lanes <= count; i += 4 * lanes)
      for (std::size_t part = 0; part < 4; ++part)
        most[part] = hn::Max(most[part], make(i + part * lanes, WholeVector()));
    for (; i + lanes <= count; i += lanes) most[0] = hn::Max(most[0], make(i, WholeVector()));
    if (i < count) {
      const PartVector rest{count - i};
      make(i, rest);
      most[0] = hn::Max(most[0], rest.load_or(panel.logits + i, -std::numeric_limits<float>::infinity()));
    }
  });
  if (panel.k <= static_cast<std::int64_t>(lanes)) {
    store(hn::Max(hn::Max(most[0], most[1]), hn::Max(most[2], most[3])), maxima);
    return lanes;
  }
  for (std::size_t part = 0; part < 4; ++part) store(most[part], maxima + part * lanes);
  return 4 * lanes;
}

void apply_temperature(const PanelRow& panel) {
  scale_row(panel.inverse_temperature, static_cast<std::size_t>(panel.count), panel.logits);
}

float panel_maximum(const PanelRow& panel) {
  return max_of(panel.logits, static_cast<std::size_t>(panel.count));
}

float panel_sum(const PanelRow& panel, float maximum) {
  return sum_of_exponentials(panel.logits, static_cast<std::size_t>(panel.count), maximum);
}

/// Returns the first index >= begin whose logit is greater than the threshold, or the count.
std::int64_t find_greater(const PanelRow& panel, std::int64_t begin, float threshold) {
  const FloatTag d;
  const auto lanes = static_cast<std::int64_t>(float_lanes());
  std::int64_t i = begin;
  for (; i + lanes <= panel.count; i += lanes) {
    const std::intptr_t found = hn::FindFirstTrue(d, hn::Gt(load(panel.logits + i), set(threshold)));
    if (found >= 0) return i + found;
  }
  for (; i < panel.count; ++i)
    if (panel.logits[i] > threshold) return i;
  return panel.count;
}

/// Stores the upper halves of the 64 random bits that core::random_uniform() converts, for consecutive indices starting
/// at `first`. It stores whole vectors.
HWY_INLINE void uniform_bits(const ops::RowNoise& noise, std::uint64_t first, std::size_t count, std::uint32_t* bits) {
  const WideTag d;
  const hn::Rebind<std::uint32_t, WideTag> d_narrow;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const WideWords index = hn::Iota(d, first + i);
    const PhiloxWords c = philox_rounds(
        {index, hn::ShiftRight<32>(index), hn::Set(d, noise.stream & 0xFFFFFFFF), hn::Set(d, noise.stream >> 32)},
        noise.seed);
    hn::StoreU(hn::TruncateTo(d_narrow, c.c1), d_narrow, bits + i);
  }
}

/// Returns -log(-log(1 - u)) for u = (bits + 0.5) / 2^32: ops::gumbel_noise() computed from half of its bits. The
/// result is accurate to 1e-4, or +infinity where 32 bits do not suffice for that.
HWY_INLINE Floats estimated_gumbel(const std::uint32_t* bits) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> d_bits;
  const hn::RebindToSigned<FloatTag> d_int;
  // 16-bit halves convert exactly as signed integers, which every target supports.
  const auto to_float = [&](auto word) HWY_ATTR {
    const Floats high = hn::ConvertTo(d, hn::BitCast(d_int, hn::ShiftRight<16>(word)));
    const Floats low = hn::ConvertTo(d, hn::BitCast(d_int, hn::And(word, hn::Set(d_bits, 0xFFFF))));
    return hn::Mul(hn::Add(hn::MulAdd(high, set(65536.0F), low), set(0.5F)), set(0x1p-32F));
  };
  const auto word = hn::LoadU(d_bits, bits);
  const Floats u = to_float(word);
  const Floats series = hn::MulAdd(hn::MulAdd(hn::MulAdd(u, set(0.25F), set(1.0F / 3)), u, set(0.5F)), u, set(1.0F));
  const Floats exact = hn::Neg(hn::Log(d, to_float(hn::Not(word))));
  const Floats exponential = hn::IfThenElse(hn::Lt(u, set(0x1p-6F)), hn::Mul(u, series), exact);
  return hn::IfThenElse(hn::Lt(u, set(0x1p-16F)), set(std::numeric_limits<float>::infinity()),
                        hn::Neg(hn::Log(d, exponential)));
}

/// Stores the indices in [begin, begin + count) at which score plus noise may exceed `threshold`, and returns their
/// number. Computing a 64-bit logarithm for every token of the vocabulary would take ten times as long as the
/// projection. count <= kNoiseChunk.
std::int64_t find_noisy(const PanelRow& panel, std::int64_t begin, std::int64_t count, float threshold,
                        std::int64_t* found) {
  const FloatTag d;
  HWY_ALIGN std::uint32_t bits[kNoiseChunk + 2 * hn::MaxLanes(d)];
  const auto first = panel.noise->step * static_cast<std::uint64_t>(panel.vocabulary) +
                     static_cast<std::uint64_t>(panel.first_token + begin);
  uniform_bits(*panel.noise, first, static_cast<std::size_t>(count), bits);
  std::int64_t number = 0;
  const float* logits = panel.logits + begin;
  for_each_vector(static_cast<std::size_t>(count), [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats score = vector.load_or(logits + i, -std::numeric_limits<float>::infinity());
    const Floats margin = hn::MulAdd(hn::Abs(score), set(1e-6F), set(1e-3F));
    const Floats most = hn::Add(hn::Add(score, estimated_gumbel(bits + i)), margin);
    const auto above = hn::Gt(most, set(threshold));
    if (hn::AllFalse(d, above)) return;
    HWY_ALIGN std::uint8_t mask[(hn::MaxLanes(d) + 7) / 8 + 8] = {};
    hn::StoreMaskBits(d, above, mask);
    for (std::size_t lane = 0; lane < vector.size(); ++lane)
      if ((mask[lane / 8] >> lane % 8 & 1) != 0) found[number++] = begin + static_cast<std::int64_t>(i + lane);
  });
  return number;
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(make_logits);
HWY_EXPORT(apply_temperature);
HWY_EXPORT(panel_maximum);
HWY_EXPORT(panel_sum);
HWY_EXPORT(find_greater);
HWY_EXPORT(find_noisy);

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

}  // namespace

void add_panel_sum(float maximum, float sum, RowState& state) {
  const auto largest = static_cast<double>(maximum);
  const auto added = static_cast<double>(sum);
  if (state.sum == 0) {
    state.maximum = largest;
    state.sum = added;
  } else if (largest > state.maximum) {
    state.sum = state.sum * std::exp(state.maximum - largest) + added;
    state.maximum = largest;
  } else {
    state.sum += added * std::exp(largest - state.maximum);
  }
}

void offer(const Candidate& candidate, std::int64_t k, RowState& state) {
  if (state.count == k) {
    if (!ranks_before(candidate, state.candidates[0])) return;
    std::pop_heap(state.candidates, state.candidates + k, ranks_before);
    state.candidates[k - 1] = candidate;
  } else {
    state.candidates[state.count++] = candidate;
  }
  std::push_heap(state.candidates, state.candidates + state.count, ranks_before);
}

namespace {

void apply_edits(const PanelRow& panel) {
  for (const ops::LogitEdit& edit : panel.edits) {
    float& logit = panel.logits[edit.token - panel.first_token];
    logit = ops::edited(logit, edit);
  }
}

/// The largest number of parts of a panel.
constexpr std::size_t kMaxParts = 64;

/// Returns a lower bound of the k best logits in a panel: the k-th largest of its parts' maxima. With fewer than k
/// parts, it is the lowest float.
float least_candidate(std::span<float> maxima, std::int64_t k) {
  if (static_cast<std::size_t>(k) > maxima.size()) return kNever;
  for (float& maximum : maxima) maximum = ordered(maximum);
  const auto kth = maxima.begin() + (k - 1);
  std::nth_element(maxima.begin(), kth, maxima.end(), std::greater<>());
  return *kth;
}

/// For `least` see least_candidate().
void select_plain(const PanelRow& panel, float least, RowState& state) {
  std::int64_t i = 0;
  const auto offer_at = [&](std::int64_t at) {
    const float score = ordered(panel.logits[at]);
    offer({static_cast<double>(score), score, static_cast<std::int32_t>(panel.first_token + at)}, panel.k, state);
  };
  // Finds the first candidates without inspecting most logits.
  const float below = std::nextafter(least, kNever);
  while (below > kNever && i < panel.count && state.count < panel.k) {
    i = HWY_DYNAMIC_DISPATCH(find_greater)(panel, i, below);
    if (i < panel.count) offer_at(i++);
  }
  for (; i < panel.count && state.count < panel.k; ++i) offer_at(i);
  // A later token with an equal score ranks lower, so only greater scores matter.
  while (i < panel.count) {
    i = HWY_DYNAMIC_DISPATCH(find_greater)(panel, i, state.candidates[0].score);
    if (i < panel.count) offer_at(i++);
  }
}

void select_noisy(const PanelRow& panel, RowState& state) {
  const auto offer_at = [&](std::int64_t at) {
    const std::int64_t token = panel.first_token + at;
    const float score = ordered(panel.logits[at]);
    const double key = static_cast<double>(score) + ops::gumbel_noise(*panel.noise, panel.vocabulary, token);
    offer({key, score, static_cast<std::int32_t>(token)}, panel.k, state);
  };
  std::int64_t i = 0;
  for (; i < panel.count && state.count < panel.k; ++i) offer_at(i);
  while (i < panel.count) {
    const std::int64_t count = std::min(kNoiseChunk, panel.count - i);
    std::int64_t found[kNoiseChunk];
    const std::int64_t number =
        HWY_DYNAMIC_DISPATCH(find_noisy)(panel, i, count, static_cast<float>(state.candidates[0].key), found);
    for (std::int64_t n = 0; n < number; ++n) offer_at(found[n]);
    i += count;
  }
}

}  // namespace

void take_panel(const PanelRow& panel, RowState& state) {
  float parts[kMaxParts];
  const std::span maxima(parts, HWY_DYNAMIC_DISPATCH(make_logits)(panel, parts));
  float maximum = *std::ranges::max_element(maxima);
  float least = state.count == 0 ? least_candidate(maxima, panel.k) : kNever;
  if (!panel.shortlist.empty()) forbid_others(panel.shortlist, panel.first_token, panel.count, panel.logits);
  if (!panel.edits.empty()) {
    apply_edits(panel);
    if (panel.inverse_temperature != 1.0F) HWY_DYNAMIC_DISPATCH(apply_temperature)(panel);
  }
  if (!panel.edits.empty() || !panel.shortlist.empty()) {
    maximum = HWY_DYNAMIC_DISPATCH(panel_maximum)(panel);
    least = kNever;
  }
  if (maximum != kNever) add_panel_sum(maximum, HWY_DYNAMIC_DISPATCH(panel_sum)(panel, maximum), state);
  if (panel.noise == nullptr)
    select_plain(panel, least, state);
  else
    select_noisy(panel, state);
}

void add_panel(const RowState& panel, std::int64_t k, RowState& state) {
  // In a single panel, both values are floats.
  if (panel.sum != 0) add_panel_sum(static_cast<float>(panel.maximum), static_cast<float>(panel.sum), state);
  for (std::int64_t i = 0; i < panel.count; ++i) offer(panel.candidates[i], k, state);
}

void finish_row(RowState& state, std::int64_t k, bool noisy, std::int32_t* tokens, float* log_probabilities) {
  const double log_sum = state.maximum + std::log(state.sum);
  for (std::int64_t i = 0; i < k; ++i) {
    Candidate& candidate = state.candidates[i];
    candidate.score = static_cast<float>(static_cast<double>(candidate.score) - log_sum);
    // Different logits may round to the same log probability. Then the order of the tokens decides.
    if (!noisy) candidate.key = static_cast<double>(candidate.score);
  }
  std::sort(state.candidates, state.candidates + k, ranks_before);
  for (std::int64_t i = 0; i < k; ++i) {
    tokens[i] = state.candidates[i].token;
    log_probabilities[i] = state.candidates[i].score;
  }
}

}  // namespace dragoman::backend::cpu
#endif
