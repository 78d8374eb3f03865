#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dragoman::decoding {

/// The condition that ends the beam search of a sentence. B is round(beam_size * patience), and at least n_best.
enum class StopRule : std::uint8_t {
  kBeamFinished,  ///< B hypotheses have ended (fairseq; CTranslate2 with a penalty)
  kBestEnded,  ///< the best candidate of some step was an end, and n_best have ended (CTranslate2 without penalties).
               ///< With a coverage penalty it acts as kBeamFinished
  kBeamEmpty,  ///< no hypothesis is alive (Marian)
  kBound,      ///< no living hypothesis can still become one of the n_best
  kOutscored,  ///< B hypotheses have ended, and no living one would score more than the worst of the best B if it ended
               ///< now (transformers with early_stopping false)
};

/// What happens to the places of a beam when hypotheses end.
enum class EndedPlace : std::uint8_t {
  kRefilled,  ///< ends among the best beam_size candidates count, and further candidates fill their places (fairseq,
              ///< CTranslate2)
  kVacant,    ///< the beam is smaller for one step, then full again
  kClosed,    ///< the beam shrinks by one with each ended hypothesis (Marian)
};

/// How the score of a hypothesis follows from the sum s of its log probabilities and its length n, with the search
/// rules that belong to it. The presets reproduce published systems, so that a converted model can be compared:
///
///     none     s                              kBound                                       kVacant
///     gnmt     s / ((5 + n) / 6)^alpha        kBound                                       kVacant
///     fairseq  s / n^alpha                    kBeamFinished                                kRefilled
///     marian   (s - word_penalty n)/n^alpha   kBeamEmpty                                   kClosed
///     ct2      s / n^alpha                    kBeamFinished, or kBestEnded if alpha is 0   kRefilled
///     transformers  s / n^alpha               kOutscored                                   kRefilled
///
/// Sources: Wu et al. 2016, eq. 14; fairseq/sequence_generator.py; Marian src/translator/history.h; CTranslate2
/// src/decoding.cc; transformers generation/beam_search.py. In all of them, s includes the log probability of the end,
/// and n, which is at least 1, counts the end. A hypothesis that was cut has no end.
///
///     const LengthPenalty penalty = LengthPenalty::preset("gnmt", 0.6);
///     const double score = penalty.score(/*log_probability=*/-4.2, /*tokens=*/7, /*ended=*/true);
struct LengthPenalty {
  enum class Kind : std::uint8_t { kNone, kPower, kGnmt };
  Kind kind = Kind::kPower;
  double alpha = 1;
  double word_penalty = 0;
  StopRule stop = StopRule::kBeamFinished;
  EndedPlace ended_place = EndedPlace::kRefilled;
  /// The name of the preset; does not depend on alpha and word_penalty.
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
  /// Returns a preset by name. Without `alpha`, the preset's default alpha applies. Error{kInvalidArgument} for an
  /// unknown name; the message lists the names.
  static LengthPenalty preset(std::string_view name, std::optional<double> alpha = {});

  /// Returns the score of `tokens` tokens, which exclude the end. `ended`: whether the sum includes the end.
  double score(double log_probability, std::int64_t tokens, bool ended) const;
  /// Returns an upper bound of the score of all continuations of a hypothesis of `tokens` tokens to at most
  /// `maximum_tokens`. Infinite if no bound is known.
  double bound(double log_probability, std::int64_t tokens, std::int64_t maximum_tokens) const;
};

}  // namespace dragoman::decoding
