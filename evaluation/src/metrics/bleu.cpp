#include "ngram_profiles.h"
#include "ngrams.h"
#include "text/separate_tokens.h"
#include "text/text.h"
#include "text/word_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/evaluation/bleu.h>

namespace dragoman::evaluation {
namespace {

constexpr int kMaxWords = 16;
// The statistics are {hypothesis length, reference length, matches..., totals...}. This is the offset of the matches.
constexpr std::size_t kMatches = 2;

std::string_view smoothing_name(BleuSmoothing smoothing) {
  switch (smoothing) {
    case BleuSmoothing::kNone:
      return "none";
    case BleuSmoothing::kFloor:
      return "floor";
    case BleuSmoothing::kAddK:
      return "add-k";
    case BleuSmoothing::kExponential:
      return "exp";
  }
  core::fail(core::ErrorCode::kInvalidArgument, "there is no BLEU smoothing number {}", static_cast<int>(smoothing));
}

/// Returns the reference length nearest to the hypothesis length, or the shorter of two that are equally near.
std::size_t closest_length(std::size_t hypothesis, std::span<const std::size_t> references) {
  const auto distance = [&](std::size_t length) {
    return length > hypothesis ? length - hypothesis : hypothesis - length;
  };
  return *std::min_element(references.begin(), references.end(), [&](std::size_t a, std::size_t b) {
    return distance(a) != distance(b) ? distance(a) < distance(b) : a < b;
  });
}

/// Returns the largest count of each n-gram in any reference. Sequence 0 is the hypothesis.
std::vector<std::uint32_t> largest_counts(const NgramIndex& ngrams, std::size_t references) {
  std::vector<std::uint32_t> largest = ngrams.counts(1);
  for (std::size_t r = 2; r <= references; ++r) {
    const std::vector<std::uint32_t> counts = ngrams.counts(r);
    std::transform(largest.begin(), largest.end(), counts.begin(), largest.begin(),
                   [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); });
  }
  return largest;
}

double brevity_penalty(double hypothesis_length, double reference_length) {
  if (hypothesis_length >= reference_length) return 1;
  return hypothesis_length > 0 ? std::exp(1 - reference_length / hypothesis_length) : 0;
}

/// Returns sacreBLEU's logarithm. It is finite at 0, so an order without a match makes the score 0 instead of NaN.
double floored_log(double x) {
  return x == 0 ? -9999999999.0 : std::log(x);
}

}  // namespace

Bleu::Bleu(const BleuOptions& options) : options_(options) {
  core::require(options.max_order >= 1 && options.max_order <= kMaxWords, core::ErrorCode::kInvalidArgument,
                "BLEU's n-gram order is {}; it must be 1 to {}", options.max_order, kMaxWords);
  core::require(smoothing_value() >= 0 && std::isfinite(smoothing_value()), core::ErrorCode::kInvalidArgument,
                "BLEU's smoothing value is {}; it must not be negative", smoothing_value());
}

std::size_t Bleu::statistics_size() const {
  return kMatches + 2 * static_cast<std::size_t>(options_.max_order);
}

double Bleu::smoothing_value() const {
  return options_.smoothing_value.value_or(options_.smoothing == BleuSmoothing::kFloor ? 0.1 : 1.0);
}

std::string Bleu::tokenised(std::string_view text) const {
  const std::string lower = options_.lowercase ? lower_case(text) : std::string();
  if (options_.lowercase) text = lower;
  return options_.other_tokenizer.separate ? options_.other_tokenizer.separate(trim_right(text))
                                           : separate_tokens(text, options_.tokenizer);
}

void Bleu::count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                         std::span<double> statistics) const {
  std::vector<std::string> texts;
  const auto add = [&](std::string_view text) { texts.push_back(tokenised(text)); };
  add(hypothesis);
  std::for_each(references.begin(), references.end(), add);

  WordNumbers numbers;
  std::vector<NgramIndex::Symbols> sequences;
  std::vector<std::size_t> lengths;
  for (const std::string& text : texts) lengths.push_back(sequences.emplace_back(numbers(split(text))).size());

  statistics[0] = static_cast<double>(lengths[0]);
  statistics[1] = static_cast<double>(closest_length(lengths[0], std::span(lengths).subspan(1)));
  NgramIndex ngrams(std::move(sequences));
  const auto orders = static_cast<std::size_t>(options_.max_order);
  for (std::size_t n = 0; n < orders; ++n) {
    if (n > 0) ngrams.next_order();
    statistics[kMatches + n] =
        static_cast<double>(matches(ngrams.counts(0), largest_counts(ngrams, references.size())));
    statistics[kMatches + orders + n] = static_cast<double>(ngrams.total(0));
  }
}

std::vector<double> Bleu::pairwise(std::span<const std::string> texts) const {
  std::vector<std::string> tokenised_texts;
  for (const std::string& text : texts) {
    core::check_stop("comparing texts");
    tokenised_texts.push_back(tokenised(text));
  }
  WordNumbers numbers;
  std::vector<NgramIndex::Symbols> sequences;
  std::vector<double> lengths;
  for (const std::string& text : tokenised_texts)
    lengths.push_back(static_cast<double>(sequences.emplace_back(numbers(split(text))).size()));
  const auto orders = static_cast<std::size_t>(options_.max_order);
  const NgramProfiles profiles(NgramIndex(std::move(sequences)), texts.size(), orders);
  std::vector<double> scores;
  std::vector<double> statistics(statistics_size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t j = 0; j < texts.size(); ++j) {
      statistics[0] = lengths[i];
      statistics[1] = lengths[j];
      for (std::size_t n = 0; n < orders; ++n) {
        statistics[kMatches + n] = static_cast<double>(profiles.matches(n, i, j));
        statistics[kMatches + orders + n] = static_cast<double>(profiles.total(n, i));
      }
      scores.push_back(Bleu::value(statistics));
    }
  }
  return scores;
}

BleuParts Bleu::parts(std::span<const double> statistics) const {
  const auto orders = static_cast<std::size_t>(options_.max_order);
  const auto matched = statistics.subspan(kMatches, orders);
  const auto totals = statistics.subspan(kMatches + orders, orders);
  BleuParts parts{.score = 0,
                  .brevity_penalty = evaluation::brevity_penalty(statistics[0], statistics[1]),
                  .precisions = std::vector<double>(orders, 0.0)};
  if (std::all_of(matched.begin(), matched.end(), [](double count) { return count == 0; })) return parts;

  double halving = 1;
  std::size_t used_orders = orders;
  for (std::size_t n = 0; n < orders; ++n) {
    const double added = options_.smoothing == BleuSmoothing::kAddK && n > 0 ? smoothing_value() : 0;
    const double match = matched[n] + added;
    const double total = totals[n] + added;
    if (total == 0) break;
    if (options_.effective_order) used_orders = n + 1;
    if (match != 0) {
      parts.precisions[n] = 100 * match / total;
    } else if (options_.smoothing == BleuSmoothing::kExponential) {
      halving *= 2;
      parts.precisions[n] = 100 / (halving * total);
    } else if (options_.smoothing == BleuSmoothing::kFloor) {
      parts.precisions[n] = 100 * smoothing_value() / total;
    }
  }
  double log_sum = 0;
  for (std::size_t n = 0; n < used_orders; ++n) log_sum += floored_log(parts.precisions[n]);
  parts.score = parts.brevity_penalty * std::exp(log_sum / static_cast<double>(used_orders));
  return parts;
}

double Bleu::value(std::span<const double> statistics) const {
  return parts(statistics).score;
}

std::string Bleu::details(std::span<const double> statistics) const {
  const BleuParts factors = parts(statistics);
  std::string precisions;
  for (const double precision : factors.precisions)
    precisions += fmt::format("{}{:.1f}", precisions.empty() ? "" : "/", precision);
  const double ratio = statistics[1] == 0 ? 0 : statistics[0] / statistics[1];
  return fmt::format("{} (BP = {:.3f} ratio = {:.3f} hyp_len = {:.0f} ref_len = {:.0f})", precisions,
                     factors.brevity_penalty, ratio, statistics[0], statistics[1]);
}

std::string Bleu::signature_fields() const {
  const bool has_value = options_.smoothing == BleuSmoothing::kFloor || options_.smoothing == BleuSmoothing::kAddK;
  return fmt::format("case:{}|eff:{}|tok:{}|smooth:{}{}", options_.lowercase ? "lc" : "mixed",
                     options_.effective_order ? "yes" : "no",
                     options_.other_tokenizer.separate ? std::string_view(options_.other_tokenizer.name)
                                                       : tokenizer_name(options_.tokenizer),
                     smoothing_name(options_.smoothing), has_value ? fmt::format("[{:.2f}]", smoothing_value()) : "");
}

Score corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
                  const BleuOptions& options) {
  return corpus_score(Bleu(options), hypotheses, references);
}

}  // namespace dragoman::evaluation
