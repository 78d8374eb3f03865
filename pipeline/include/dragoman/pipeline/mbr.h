#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dragoman/decoding/mbr_options.h>
#include <dragoman/pipeline_api/stage.h>

namespace dragoman::pipeline {

// Minimum Bayes risk decoding: selects the candidate translation that agrees best with all candidates, by the mean of a
// metric that compares two sentences (Kumar & Byrne 2004; Eikema & Aziz 2022; Freitag et al. 2022).

using decoding::MbrCandidates;
using decoding::MbrUtility;

/// How the hypotheses of a search are ranked.
struct MbrRanking {
  MbrUtility utility = MbrUtility::kChrf;
  bool weighted = false;  ///< by probability
  std::int32_t n_best = 1;
};

struct RankedCandidate {
  std::size_t index = 0;
  /// 0 to 100: the mean of the utility over all candidates as references, including the candidate itself.
  double expected_utility = 0;
};

/// Returns at most n_best distinct texts, best first, each with the index of its first candidate. Of equally good ones,
/// the earlier candidate is first. The utility of a text with respect to another is sentence chrF2, or BLEU with
/// effective order and exponential smoothing, as sacreBLEU computes them. Texts are valid UTF-8, each with its log
/// probability. Thread-safe.
///
///     const std::vector<std::string> texts{"Good morning!", "Good morning.", "A good day!"};
///     const std::vector<double> log_probabilities{-1, -2, -3};
///     const std::size_t best = rank_by_expected_utility(texts, log_probabilities, {}).front().index;
std::vector<RankedCandidate> rank_by_expected_utility(std::span<const std::string> texts,
                                                      std::span<const double> log_probabilities,
                                                      const MbrRanking& ranking);

}  // namespace dragoman::pipeline
