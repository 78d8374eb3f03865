#include "dragoman/pipeline/mbr.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <dragoman/evaluation/bleu.h>
#include <dragoman/evaluation/chrf.h>

namespace dragoman::pipeline {
namespace {

struct DistinctText {
  std::size_t index;
  double weight;
};

/// Returns the distinct texts in the order of their first candidates. Weights sum to 1.
std::vector<DistinctText> distinct_texts(std::span<const std::string> texts, std::span<const double> log_probabilities,
                                         bool weighted) {
  // Relative to the most probable one, so that not all of them underflow.
  const double most = *std::max_element(log_probabilities.begin(), log_probabilities.end());
  std::vector<DistinctText> distinct;
  std::map<std::string_view, std::size_t> places;
  double sum = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto [place, is_new] = places.try_emplace(texts[i], distinct.size());
    if (is_new) distinct.push_back({i, 0});
    const double weight = weighted ? std::exp(log_probabilities[i] - most) : 1;
    distinct[place->second].weight += weight;
    sum += weight;
  }
  for (DistinctText& text : distinct) text.weight /= sum;
  return distinct;
}

std::vector<double> pairwise_utility(std::span<const std::string> texts, MbrUtility utility) {
  if (utility == MbrUtility::kBleu) return evaluation::Bleu({.effective_order = true}).pairwise(texts);
  return evaluation::Chrf().pairwise(texts);
}

}  // namespace

std::vector<RankedCandidate> rank_by_expected_utility(std::span<const std::string> texts,
                                                      std::span<const double> log_probabilities,
                                                      const MbrRanking& ranking) {
  if (texts.empty()) return {};
  const std::vector<DistinctText> distinct = distinct_texts(texts, log_probabilities, ranking.weighted);
  std::vector<std::string> compared;
  for (const DistinctText& text : distinct) compared.push_back(texts[text.index]);
  const std::vector<double> utility = pairwise_utility(compared, ranking.utility);
  std::vector<RankedCandidate> ranked;
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    double expected = 0;
    for (std::size_t j = 0; j < distinct.size(); ++j) expected += distinct[j].weight * utility[i * distinct.size() + j];
    ranked.push_back({distinct[i].index, expected});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const RankedCandidate& a, const RankedCandidate& b) {
    return a.expected_utility > b.expected_utility;
  });
  ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(ranking.n_best)));
  return ranked;
}

}  // namespace dragoman::pipeline
