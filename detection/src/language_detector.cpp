#include "ngram_features.h"
#include "plausibility.h"
#include "table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/quote.h>
#include <dragoman/detection/language_detector.h>

namespace dragoman::detection {
namespace {

using core::Error;
using core::ErrorCode;

/// A table has at most 4 GiB of rows; one that is read into memory whole should not be larger than that of a model.
constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 28;

std::string read_table(const std::filesystem::path& file) {
  core::InputFile input(file);
  std::string bytes;
  std::vector<char> buffer(1 << 16);
  while (const std::size_t count = input.read(buffer)) {
    bytes.append(buffer.data(), count);
    if (bytes.size() > kMaxTableBytes)
      throw Error(ErrorCode::kBadInput,
                  fmt::format("{}: not a table for language detection: over {} bytes", input.name(), kMaxTableBytes));
  }
  return bytes;
}

/// The weight of a letter. A character of Chinese, Japanese or Korean counts as much as some letters of others.
std::uint64_t weight_of(const Word& word) {
  constexpr std::uint64_t kLetter = 2;
  constexpr std::uint64_t kSyllable = 5;
  const bool dense = word.writing == Writing::kHan || word.language == "ko";
  return word.letters.size() * (dense ? kSyllable : kLetter);
}

/// The sums of the rows of a text, per writing. They are integers, so their order does not matter.
class Evidence {
 public:
  explicit Evidence(const DetectorTable& table) : table_(&table), shares_(table.languages().size()) {
    for (Sum& sum : sums_) sum.values.resize(table.width());
  }

  void add_text(std::string_view text) {
    plausibility_.add_text(text);
    std::string buffer;
    WordReader reader(composed(text, buffer));
    for (Word word; reader.next(word);) add(word);
  }

  /// Returns the probability of each language. `allowed` are those that may be in it.
  std::vector<double> probabilities(const std::vector<bool>& allowed) const {
    std::vector<double> result(shares_.size());
    for (std::size_t i = 0; i < result.size(); ++i)
      if (allowed[i]) result[i] = static_cast<double>(shares_[i]);
    for (std::size_t i = 0; i < kWritings; ++i)
      if (sums_[i].rows > 0) add_scores(static_cast<Writing>(i), allowed, result);
    const double factor = plausibility_.value() / static_cast<double>(std::max<std::uint64_t>(weight_, 1));
    for (double& value : result) value *= factor;
    return result;
  }

 private:
  struct Sum {
    std::vector<std::int64_t> values;
    std::uint64_t rows = 0;
    std::uint64_t weight = 0;
  };

  void add(const Word& word) {
    const std::uint64_t weight = weight_of(word);
    weight_ += weight;
    plausibility_.add_word(word);
    if (word.writing == Writing::kOther) {
      const auto& languages = table_->languages();
      const auto found = std::lower_bound(languages.begin(), languages.end(), word.language);
      if (!word.language.empty()) shares_[static_cast<std::size_t>(found - languages.begin())] += weight;
      for_each_feature(word, [&](std::uint32_t hash) { plausibility_.add_feature(hash); });
      return;
    }
    Sum& sum = sums_[static_cast<std::size_t>(word.writing)];
    sum.weight += weight;
    for_each_feature(word, [&](std::uint32_t hash) {
      const auto row = table_->row(hash);
      for (std::size_t i = 0; i < row.size(); ++i) sum.values[i] += row[i];
      ++sum.rows;
      plausibility_.add_feature(hash);
    });
  }

  void add_scores(Writing writing, const std::vector<bool>& allowed, std::vector<double>& result) const {
    const Sum& sum = sums_[static_cast<std::size_t>(writing)];
    const double norm = 1 / std::sqrt(static_cast<double>(sum.rows));
    std::vector<std::pair<std::uint32_t, double>> scores;
    double highest = -std::numeric_limits<double>::infinity();
    for (const Class& one : table_->classes(writing)) {
      if (!allowed[one.language]) continue;
      double score = 0;
      for (std::size_t i = 0; i < sum.values.size(); ++i) score += one.weights[i] * static_cast<double>(sum.values[i]);
      scores.emplace_back(one.language, one.bias + score * norm);
      highest = std::max(highest, scores.back().second);
    }
    double total = 0;
    for (auto& [language, score] : scores) total += score = std::exp(score - highest);
    for (const auto& [language, score] : scores) result[language] += static_cast<double>(sum.weight) * score / total;
  }

  const DetectorTable* table_;
  std::array<Sum, kWritings> sums_;
  Plausibility plausibility_;
  std::vector<std::uint64_t> shares_;  ///< of the languages with scripts of their own
  std::uint64_t weight_ = 0;
};

/// Calls `use` with evenly spread parts of a long text. A part begins and ends between characters.
template <class Use>
void for_each_part(std::string_view text, Use&& use) {
  constexpr std::size_t kParts = 16;
  if (text.size() <= LanguageDetector::kMaxBytes) return use(text);
  constexpr std::size_t kPart = LanguageDetector::kMaxBytes / kParts;
  const auto at_character = [&](std::size_t i) {
    while (i < text.size() && (static_cast<std::uint8_t>(text[i]) & 0xC0) == 0x80) ++i;
    return i;
  };
  for (std::size_t i = 0; i < kParts; ++i) {
    const std::size_t begin = (text.size() - kPart) / (kParts - 1) * i;
    use(text.substr(begin, kPart).substr(at_character(begin) - begin));
  }
}

}  // namespace

LanguageDetector::LanguageDetector(std::shared_ptr<const DetectorTable> table, std::vector<bool> allowed)
    : table_(std::move(table)), allowed_(std::move(allowed)) {}

LanguageDetector::LanguageDetector(const std::filesystem::path& file)
    : LanguageDetector(from_bytes(read_table(file), file.string())) {}

LanguageDetector LanguageDetector::from_bytes(std::string_view bytes, std::string_view name) {
  auto table = std::make_shared<const DetectorTable>(bytes, core::printable(name, 200));
  std::vector<bool> allowed(table->languages().size(), true);
  return {std::move(table), std::move(allowed)};
}

std::vector<Guess> LanguageDetector::detect(std::string_view text, std::size_t most) const {
  Evidence evidence(*table_);
  for_each_part(text, [&](std::string_view part) { evidence.add_text(part); });
  const std::vector<double> probabilities = evidence.probabilities(allowed_);
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return probabilities[i] <= 0; });
  const auto likelier = [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; };
  std::stable_sort(order.begin(), order.end(), likelier);
  std::vector<Guess> guesses;
  for (const std::size_t i : order) {
    if (guesses.size() == most) break;
    guesses.push_back({table_->languages()[i], std::min(probabilities[i], 1.0)});
  }
  return guesses;
}

LanguageDetector LanguageDetector::among(const std::vector<std::string>& languages) const {
  if (languages.empty()) throw Error(ErrorCode::kInvalidArgument, "no languages to choose between");
  const auto& all = table_->languages();
  std::vector<bool> allowed(all.size());
  for (const std::string& language : languages) {
    const auto found = std::lower_bound(all.begin(), all.end(), language);
    const auto index = static_cast<std::size_t>(found - all.begin());
    if (found == all.end() || *found != language || !allowed_[index])
      throw Error(ErrorCode::kInvalidArgument, fmt::format("language {} is not one of {}", core::quote(language),
                                                           fmt::join(this->languages(), ", ")));
    allowed[index] = true;
  }
  return {table_, std::move(allowed)};
}

std::vector<std::string> LanguageDetector::languages() const {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < allowed_.size(); ++i)
    if (allowed_[i]) result.push_back(table_->languages()[i]);
  return result;
}

}  // namespace dragoman::detection
