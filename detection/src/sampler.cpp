#include "sampler.h"

#include "ngram_features.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::detection {
namespace {

/// A language is learned in a writing if at least this many of its lines, and one of kLeastShare, have words in it.
constexpr std::size_t kLeastLines = 20;
constexpr std::size_t kLeastShare = 12;
constexpr std::size_t kMaxDistinct = 60'000;
/// Words of one or two letters are drawn as often as they occur, since most of them are noise among distinct words.
constexpr std::size_t kLeastLetters = 3;
/// A line of more features teaches nothing more.
constexpr std::size_t kMaxFeatures = 400;
/// The part of samples that are one or two distinct words, so that rare words are learned, too.
constexpr double kDistinctShare = 0.2;

/// The length of a sample in words, and for Chinese and Japanese in characters.
struct Length {
  std::size_t words;
  std::size_t characters;
};

Length draw_length(Random& random) {
  const double kind = random.uniform();
  if (kind < 0.3) return {1, 2 + random.below(3)};
  if (kind < 0.55) return {2 + random.below(2), 4 + random.below(6)};
  if (kind < 0.8) return {4 + random.below(5), 40};
  return {100, 40};
}

/// Returns `length` letters at a random place of a word, or the word if it is shorter.
Word cut(const Word& word, std::size_t length, Random& random) {
  if (word.letters.size() <= length) return word;
  const auto begin = word.letters.begin() + static_cast<std::ptrdiff_t>(random.below(word.letters.size() - length + 1));
  return {word.writing, word.language, {begin, begin + static_cast<std::ptrdiff_t>(length)}};
}

}  // namespace

Sampler::Sampler(const std::vector<LanguageText>& texts, const std::stop_token& stop) {
  for (std::uint32_t i = 0; i < texts.size(); ++i) read(texts[i], i, stop);
  double sum = 0;
  for (std::size_t i = 0; i < kWritings; ++i) {
    // Languages of one writing are told apart from all others of it.
    if (sources_[i].size() >= 2) sum += static_cast<double>(sources_[i].size());
    shares_[i] = sum;
  }
  if (sum == 0)
    throw core::Error(core::ErrorCode::kBadInput,
                      "no two texts are in one script; languages with a script of their own need no text");
}

void Sampler::read(const LanguageText& text, std::uint32_t language, const std::stop_token& stop) {
  std::array<Source, kWritings> sources;
  std::size_t all = 0;
  for (const auto& file : text.files) {
    core::LineReader lines(file, stop);
    for (std::string line; lines.next(line);) {
      core::check_stop("reading the texts of a detector; nothing was written");
      std::array<Line, kWritings> words;
      std::string buffer;
      WordReader reader(composed(line, buffer));
      for (Word word; reader.next(word);)
        if (word.writing != Writing::kOther) words[static_cast<std::size_t>(word.writing)].push_back(std::move(word));
      for (std::size_t i = 0; i < kWritings; ++i)
        if (!words[i].empty()) sources[i].lines.push_back(std::move(words[i])), ++all;
    }
  }
  bool learned = false;
  for (std::size_t i = 0; i < kWritings; ++i) {
    Source& source = sources[i];
    if (source.lines.size() < kLeastLines || source.lines.size() * kLeastShare < all) continue;
    source.language = language;
    std::set<std::vector<char32_t>> seen;
    for (const Line& line : source.lines)
      for (const Word& word : line)
        if (word.letters.size() >= kLeastLetters && seen.size() < kMaxDistinct && seen.insert(word.letters).second)
          source.distinct.push_back(word);
    sources_[i].push_back(std::move(source));
    learned = true;
  }
  if (!learned)
    throw core::Error(core::ErrorCode::kBadInput,
                      fmt::format("the text of language {} has fewer than {} lines in a script that several languages "
                                  "use: add text, or leave the language out",
                                  text.language, kLeastLines));
}

std::vector<std::uint32_t> Sampler::languages(Writing writing) const {
  std::vector<std::uint32_t> result;
  for (const Source& source : sources_[static_cast<std::size_t>(writing)]) result.push_back(source.language);
  return result;
}

Writing Sampler::draw_writing(Random& random) const {
  const double place = random.uniform() * shares_.back();
  const auto found = std::upper_bound(shares_.begin(), shares_.end(), place);
  return static_cast<Writing>(std::min<std::ptrdiff_t>(found - shares_.begin(), kWritings - 1));
}

Sample Sampler::draw(Random& random, std::vector<std::uint32_t>& features) const {
  features.clear();
  const auto use = [&](std::uint32_t hash) { features.push_back(hash); };
  const Writing writing = draw_writing(random);
  const auto& sources = sources_[static_cast<std::size_t>(writing)];
  const Sample sample{writing, random.below(sources.size())};
  const Source& source = sources[sample.index];
  const bool words = writing != Writing::kHan;
  if (words && !source.distinct.empty() && random.uniform() < kDistinctShare) {
    for (std::size_t left = 1 + random.below(2); left > 0; --left)
      for_each_feature(source.distinct[random.below(source.distinct.size())], use);
    return sample;
  }
  const Line& line = source.lines[random.below(source.lines.size())];
  const Length length = draw_length(random);
  const std::size_t count = std::min(length.words, line.size());
  const std::size_t first = random.below(line.size() - count + 1);
  for (std::size_t i = first; i < first + count && features.size() < kMaxFeatures; ++i)
    for_each_feature(words ? line[i] : cut(line[i], length.characters, random), use);
  return sample;
}

}  // namespace dragoman::detection
