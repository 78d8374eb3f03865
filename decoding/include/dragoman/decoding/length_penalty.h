#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dragoman::decoding {

/// When a beam search is done with a sentence. B stands for round(beam_size * patience), and is at least n_best.
enum class StopRule : std::uint8_t {
  kBeamFinished,  ///< B hypotheses have ended (fairseq; CTranslate2 with a penalty)
  kBestEnded,  ///< the best candidate of some step was an end, and n_best have ended (CTranslate2 without penalties).
               ///< With patience or a coverage penalty it acts as kBeamFinished
  kBeamEmpty,  ///< no hypothesis is alive (Marian)
  kBound,      ///< no living hypothesis can still become one of the n_best
  kOutscored,  ///< B hypotheses have ended, and none that is alive would score more than the worst of the best B if it
               ///< ended now (transformers with early_stopping false)
};

/// What becomes of a beam's places when hypotheses end.
enum class EndedPlace : std::uint8_t {
  kRefilled,  ///< ends within the best beam_size candidates count, further candidates take their places (fairseq,
              ///< CTranslate2)
  kVacant,    ///< the beam is smaller for one step and then full again
  kClosed,    ///< the beam stays smaller by each ended hypothesis (Marian)
};

/// How a hypothesis' score follows from the sum s of its log probabilities and its length n, and the search rules that
/// belong to it. The presets reproduce published systems, so that a converted model can be compared:
///
///     none     s                              kBound                                       kVacant
///     gnmt     s / ((5 + n) / 6)^alpha        kBound                                       kVacant
///     fairseq  s / n^alpha                    kBeamFinished                                kRefilled
///     marian   (s - word_penalty n)/n^alpha   kBeamEmpty                                   kClosed
///     ct2      s / n^alpha                    kBeamFinished, or kBestEnded if alpha is 0   kRefilled
///     transformers  s / n^alpha               kOutscored                                   kRefilled
///
/// From Wu et al. 2016, eq. 14; fairseq/sequence_generator.py; Marian src/translator/history.h; CTranslate2
/// src/decoding.cc; transformers generation/beam_search.py. s includes the end's log probability, and n counts the end,
/// in all of them; n is at least 1. A hypothesis that was cut has no end.
struct LengthPenalty {
  enum class Kind : std::uint8_t { kNone, kPower, kGnmt };
  Kind kind = Kind::kPower;
  double alpha = 1;
  double word_penalty = 0;
  StopRule stop = StopRule::kBeamFinished;
  EndedPlace ended_place = EndedPlace::kRefilled;
  /// The preset that it is, whatever its alpha and word penalty.
  std::string_view name = "fairseq";

  bool operator==(const LengthPenalty&) const = default;

  static LengthPenalty none();
  static LengthPenalty gnmt(double alpha = 0.6);
  static LengthPenalty fairseq(double alpha = 1);
  static LengthPenalty marian(double alpha = 0, double word_penalty = 0);
  static LengthPenalty ct2(double alpha = 1);
  static LengthPenalty transformers(double alpha = 1);
  static constexpr std::array<std::string_view, 6> kPresets = {"fairseq", "gnmt",         "marian",
                                                               "ct2",     "transformers", "none"};
  /// By name, with the preset's own alpha unless one is given; an unknown name is an Error{kInvalidArgument} that lists
  /// them.
  static LengthPenalty preset(std::string_view name, std::optional<double> alpha = {});

  /// The score of `tokens` tokens without the end; `ended` says whether the end is part of the sum.
  double score(double log_probability, std::int64_t tokens, bool ended) const;
  /// No continuation of a hypothesis of `tokens` tokens to at most `maximum_tokens` can score more. Infinite if nothing
  /// better is known.
  double bound(double log_probability, std::int64_t tokens, std::int64_t maximum_tokens) const;
};

}  // namespace dragoman::decoding
