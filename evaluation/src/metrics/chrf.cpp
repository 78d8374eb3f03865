#include "ngram_profiles.h"
#include "ngrams.h"
#include "text/text.h"
#include "text/word_numbers.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>
#include <dragoman/evaluation/chrf.h>

namespace dragoman::evaluation {
namespace {

constexpr int kMaxCharacters = 32;
constexpr int kLargestBeta = 100;
// The statistics of one order.
enum Count : std::size_t { kHypothesis, kReference, kMatch, kCountsPerOrder };

constexpr bool is_ascii_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

NgramIndex::Symbols characters(std::string_view text, bool whitespace) {
  NgramIndex::Symbols symbols;
  for (const char32_t c : decode(text))
    if (whitespace || !is_space(c)) symbols.push_back(static_cast<std::uint32_t>(c));
  return symbols;
}

/// Returns words with one punctuation mark split off: the last character if it is one, otherwise the first.
std::vector<std::string_view> words_and_punctuation(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text)) {
    const bool single = core::utf8_length(static_cast<unsigned char>(word.front())) == word.size();
    std::size_t cut = 0;
    if (!single && is_ascii_punctuation(word.back()))
      cut = word.size() - 1;
    else if (!single && is_ascii_punctuation(word.front()))
      cut = 1;
    if (cut > 0) words.push_back(word.substr(0, cut));
    words.push_back(word.substr(cut));
  }
  return words;
}

/// Fills one row of statistics for each reference, starting at the order `first`. Sequence 0 of the index is the
/// hypothesis.
void count_orders(NgramIndex ngrams, std::size_t first, std::size_t orders, std::vector<std::vector<double>>& rows) {
  for (std::size_t n = 0; n < orders; ++n) {
    if (n > 0) ngrams.next_order();
    const std::vector<std::uint32_t> hypothesis = ngrams.counts(0);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      double* counts = rows[r].data() + (first + n) * kCountsPerOrder;
      // If the reference has no n-gram of this order, the order is undefined, so the hypothesis's n-grams do not count
      // either.
      counts[kHypothesis] = ngrams.total(r + 1) == 0 ? 0 : static_cast<double>(ngrams.total(0));
      counts[kReference] = static_cast<double>(ngrams.total(r + 1));
      counts[kMatch] = static_cast<double>(matches(hypothesis, ngrams.counts(r + 1)));
    }
  }
}

struct PrecisionRecall {
  double precision = 0;
  double recall = 0;
};

double f_score(double precision, double recall, double factor) {
  return (1 + factor) * precision * recall / (factor * precision + recall);
}

/// Returns the score averaged over the orders that occur on both sides, which is sacreBLEU's default.
double effective_order_score(std::span<const double> statistics, double factor) {
  PrecisionRecall sum;
  int used = 0;
  for (std::size_t i = 0; i < statistics.size(); i += kCountsPerOrder) {
    const auto counts = statistics.subspan(i, kCountsPerOrder);
    if (counts[kHypothesis] <= 0 || counts[kReference] <= 0) continue;
    sum.precision += counts[kMatch] / counts[kHypothesis];
    sum.recall += counts[kMatch] / counts[kReference];
    ++used;
  }
  if (sum.precision + sum.recall == 0) return 0;
  return 100 * f_score(sum.precision / used, sum.recall / used, factor);
}

/// Returns the mean F-score of all orders, with a tiny number for undefined ones, as chrF++.py, NLTK and Moses compute
/// it.
double eps_score(std::span<const double> statistics, double factor) {
  constexpr double kEpsilon = 1e-16;
  const std::size_t orders = statistics.size() / kCountsPerOrder;
  double sum = 0;
  for (std::size_t i = 0; i < orders; ++i) {
    const auto counts = statistics.subspan(i * kCountsPerOrder, kCountsPerOrder);
    const double precision = counts[kHypothesis] > 0 ? counts[kMatch] / counts[kHypothesis] : kEpsilon;
    const double recall = counts[kReference] > 0 ? counts[kMatch] / counts[kReference] : kEpsilon;
    sum += factor * precision + recall > 0 ? f_score(precision, recall, factor) : kEpsilon;
  }
  return 100 * sum / static_cast<double>(orders);
}

}  // namespace

Chrf::Chrf(const ChrfOptions& options) : options_(options) {
  const auto in_range = [](int order) { return order >= 0 && order <= kMaxCharacters; };
  core::require(in_range(options.char_order) && in_range(options.word_order) && orders() > 0,
                core::ErrorCode::kInvalidArgument,
                "chrF's orders are {} (characters) and {} (words); each must be 0 to {}, and one of them at least 1",
                options.char_order, options.word_order, kMaxCharacters);
  core::require(options.beta >= 1 && options.beta <= kLargestBeta, core::ErrorCode::kInvalidArgument,
                "chrF's beta is {}; it must be 1 to {}", options.beta, kLargestBeta);
}

std::string Chrf::name() const {
  return fmt::format("chrF{}{}", options_.beta, std::string(static_cast<std::size_t>(options_.word_order), '+'));
}

std::size_t Chrf::statistics_size() const {
  return kCountsPerOrder * static_cast<std::size_t>(orders());
}

void Chrf::count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                         std::span<double> statistics) const {
  std::vector<std::string> texts{std::string(hypothesis)};
  texts.insert(texts.end(), references.begin(), references.end());
  if (options_.lowercase) std::transform(texts.begin(), texts.end(), texts.begin(), lower_case);

  WordNumbers numbers;
  std::vector<NgramIndex::Symbols> character_sequences;
  std::vector<NgramIndex::Symbols> word_sequences;
  for (const std::string& text : texts) {
    if (options_.char_order > 0) character_sequences.push_back(characters(text, options_.whitespace));
    if (options_.word_order > 0) word_sequences.push_back(numbers(words_and_punctuation(text)));
  }

  std::vector<std::vector<double>> rows(references.size(), std::vector<double>(statistics.size()));
  const auto character_orders = static_cast<std::size_t>(options_.char_order);
  const auto word_orders = static_cast<std::size_t>(options_.word_order);
  if (character_orders > 0) count_orders(NgramIndex(std::move(character_sequences)), 0, character_orders, rows);
  if (word_orders > 0) count_orders(NgramIndex(std::move(word_sequences)), character_orders, word_orders, rows);

  const auto best = std::max_element(rows.begin(), rows.end(),
                                     [&](const auto& a, const auto& b) { return Chrf::value(a) < Chrf::value(b); });
  std::copy(best->begin(), best->end(), statistics.begin());
}

std::vector<double> Chrf::pairwise(std::span<const std::string> texts) const {
  std::vector<std::string> read(texts.begin(), texts.end());
  if (options_.lowercase) std::transform(read.begin(), read.end(), read.begin(), lower_case);
  WordNumbers numbers;
  std::vector<NgramIndex::Symbols> character_sequences;
  std::vector<NgramIndex::Symbols> word_sequences;
  for (const std::string& text : read) {
    core::check_stop("comparing texts");
    character_sequences.push_back(characters(text, options_.whitespace));
    word_sequences.push_back(numbers(words_and_punctuation(text)));
  }
  const auto character_orders = static_cast<std::size_t>(options_.char_order);
  const NgramProfiles of_characters(NgramIndex(std::move(character_sequences)), read.size(), character_orders);
  const NgramProfiles of_words(NgramIndex(std::move(word_sequences)), read.size(),
                               static_cast<std::size_t>(options_.word_order));
  std::vector<double> scores;
  std::vector<double> statistics(statistics_size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    for (std::size_t j = 0; j < read.size(); ++j) {
      for (std::size_t n = 0; n < static_cast<std::size_t>(orders()); ++n) {
        const bool by_characters = n < character_orders;
        const NgramProfiles& profiles = by_characters ? of_characters : of_words;
        const std::size_t order = by_characters ? n : n - character_orders;
        double* counts = statistics.data() + n * kCountsPerOrder;
        counts[kReference] = static_cast<double>(profiles.total(order, j));
        counts[kHypothesis] = counts[kReference] == 0 ? 0 : static_cast<double>(profiles.total(order, i));
        counts[kMatch] = static_cast<double>(profiles.matches(order, i, j));
      }
      scores.push_back(Chrf::value(statistics));
    }
  }
  return scores;
}

double Chrf::value(std::span<const double> statistics) const {
  const double factor = options_.beta * options_.beta;
  return options_.eps_smoothing ? eps_score(statistics, factor) : effective_order_score(statistics, factor);
}

std::string Chrf::signature_fields() const {
  return fmt::format("case:{}|eff:{}|nc:{}|nw:{}|space:{}", options_.lowercase ? "lc" : "mixed",
                     options_.eps_smoothing ? "no" : "yes", options_.char_order, options_.word_order,
                     options_.whitespace ? "yes" : "no");
}

Score corpus_chrf(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
                  const ChrfOptions& options) {
  return corpus_score(Chrf(options), hypotheses, references);
}

}  // namespace dragoman::evaluation
