#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dragoman/core/option_table.h>
#include <dragoman/pipeline_api/stage.h>

namespace dragoman::pipeline {

// Minimum Bayes risk decoding: of candidate translations the one that has the most in common with all of them, by the
// mean of a metric that compares two sentences (Kumar & Byrne 2004; Eikema & Aziz 2022; Freitag et al. 2022).

enum class MbrUtility : std::uint8_t { kChrf, kBleu };

/// What stands for the distribution of translations.
enum class MbrCandidates : std::uint8_t {
  kSamples,  ///< samples, all of one weight (Eikema & Aziz 2022)
  kBeam,     ///< what a beam search finds, each weighted by its probability (Kumar & Byrne 2004)
};

/// How decoding::DecodingOptions with the strategy `mbr` are to be read. Their sampling and beam options are those
/// of the search for candidates, n_best is the number of translations that are returned.
struct MbrOptions {
  MbrCandidates candidates = MbrCandidates::kSamples;
  std::int32_t samples = 32;
  MbrUtility utility = MbrUtility::kChrf;
};

const core::OptionTable<MbrOptions>& mbr_table();

/// What is done with the hypotheses that a search found.
struct MbrRanking {
  MbrUtility utility = MbrUtility::kChrf;
  bool weighted = false;  ///< by probability
  std::int32_t n_best = 1;
};

struct RankedCandidate {
  std::size_t index = 0;
  /// 0 to 100: the mean of the utility over all candidates as references, itself included.
  double expected_utility = 0;
};

/// Each distinct text once, at the index of its first candidate, and at most n_best of them, best first; of equally
/// good ones the earlier. The utility of a text against another one is sentence chrF2, or BLEU with effective order and
/// exponential smoothing, as sacreBLEU computes them. Texts are valid UTF-8, each with its log probability.
std::vector<RankedCandidate> rank_by_expected_utility(std::span<const std::string> texts,
                                                      std::span<const double> log_probabilities,
                                                      const MbrRanking& ranking);

}  // namespace dragoman::pipeline
