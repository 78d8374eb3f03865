#include "text/ter_tokenizer.h"
#include "text/text.h"
#include "text/word_numbers.h"
#include "translation_edits.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/evaluation/ter.h>

namespace dragoman::evaluation {
namespace {

/// sacreBLEU normalises references twice, which differs from once: ",,1" becomes ", ,1" and then ", , 1". Published
/// scores depend on this, so it is kept.
std::string separate_reference_words(std::string_view reference, const TerOptions& options) {
  return separate_ter_words(separate_ter_words(reference, options), options);
}

}  // namespace

void Ter::count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                        std::span<double> statistics) const {
  std::vector<std::string> texts{separate_ter_words(hypothesis, options_)};
  for (const std::string_view reference : references) texts.push_back(separate_reference_words(reference, options_));

  WordNumbers numbers;
  std::vector<Words> words;
  for (const std::string& text : texts) words.push_back(numbers(split(text)));

  std::size_t fewest_edits = translation_edits(words[0], words[1]);
  std::size_t reference_words = words[1].size();
  for (std::size_t r = 2; r < words.size(); ++r) {
    fewest_edits = std::min(fewest_edits, translation_edits(words[0], words[r]));
    reference_words += words[r].size();
  }
  statistics[0] = static_cast<double>(fewest_edits);
  statistics[1] = static_cast<double>(reference_words) / static_cast<double>(references.size());
}

double Ter::value(std::span<const double> statistics) const {
  const double edits = statistics[0];
  const double reference_words = statistics[1];
  if (reference_words > 0) return 100 * (edits / reference_words);
  return edits > 0 ? 100 : 0;
}

std::string Ter::signature_fields() const {
  const auto yes_no = [](bool value) { return value ? "yes" : "no"; };
  return fmt::format("case:{}|tok:tercom|norm:{}|punct:{}|asian:{}", options_.case_sensitive ? "mixed" : "lc",
                     yes_no(options_.normalized), yes_no(!options_.no_punct), yes_no(options_.asian_support));
}

Score corpus_ter(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
                 const TerOptions& options) {
  return corpus_score(Ter(options), hypotheses, references);
}

}  // namespace dragoman::evaluation
