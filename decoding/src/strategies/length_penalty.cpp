#include "dragoman/decoding/length_penalty.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::decoding {

LengthPenalty LengthPenalty::none() {
  return {
      .kind = Kind::kNone, .alpha = 0, .stop = StopRule::kBound, .ended_place = EndedPlace::kVacant, .name = "none"};
}

LengthPenalty LengthPenalty::gnmt(double alpha) {
  return {.kind = Kind::kGnmt,
          .alpha = alpha,
          .stop = StopRule::kBound,
          .ended_place = EndedPlace::kVacant,
          .name = "gnmt"};
}

LengthPenalty LengthPenalty::fairseq(double alpha) {
  return {.alpha = alpha};
}

LengthPenalty LengthPenalty::marian(double alpha, double word_penalty) {
  return {.alpha = alpha,
          .word_penalty = word_penalty,
          .stop = StopRule::kBeamEmpty,
          .ended_place = EndedPlace::kClosed,
          .name = "marian"};
}

LengthPenalty LengthPenalty::ct2(double alpha) {
  return {.alpha = alpha,
          .stop = alpha == 0 ? StopRule::kBestEnded : StopRule::kBeamFinished,
          .ended_place = EndedPlace::kRefilled,
          .name = "ct2"};
}

LengthPenalty LengthPenalty::transformers(double alpha) {
  return {.alpha = alpha, .stop = StopRule::kOutscored, .name = "transformers"};
}

LengthPenalty LengthPenalty::preset(std::string_view name, std::optional<double> alpha) {
  constexpr double kMostAlpha = 100;  // above it, the scores of long texts overflow
  core::require(!alpha || std::abs(*alpha) <= kMostAlpha, core::ErrorCode::kInvalidArgument,
                "`alpha` is {}; it must be from {} to {}", alpha.value_or(0), -kMostAlpha, kMostAlpha);
  if (name == "none") return none();
  if (name == "gnmt") return alpha ? gnmt(*alpha) : gnmt();
  if (name == "fairseq") return alpha ? fairseq(*alpha) : fairseq();
  if (name == "marian") return alpha ? marian(*alpha) : marian();
  if (name == "ct2") return alpha ? ct2(*alpha) : ct2();
  if (name == "transformers") return alpha ? transformers(*alpha) : transformers();
  core::fail(core::ErrorCode::kInvalidArgument, "unknown length penalty {} (length_penalty); it must be one of: {}",
             core::Quoted{name}, fmt::join(kPresets, ", "));
}

double LengthPenalty::score(double log_probability, std::int64_t tokens, bool ended) const {
  const auto n = static_cast<double>(std::max<std::int64_t>(tokens + (ended ? 1 : 0), 1));
  const double sum = log_probability - word_penalty * n;
  switch (kind) {
    case Kind::kNone:
      return sum;
    case Kind::kGnmt:
      return sum / std::pow((5 + n) / 6, alpha);
    case Kind::kPower:
      break;
  }
  return sum / std::pow(n, alpha);
}

double LengthPenalty::bound(double log_probability, std::int64_t tokens, std::int64_t maximum_tokens) const {
  // The sum never increases. For a fixed sum, the score is monotone in the length unless both penalties work against
  // each other.
  if (word_penalty != 0 && alpha != 0) return std::numeric_limits<double>::infinity();
  return std::max(score(log_probability, tokens, false), score(log_probability, maximum_tokens, true));
}

}  // namespace dragoman::decoding
