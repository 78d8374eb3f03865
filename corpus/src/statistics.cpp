#include "dragoman/corpus/statistics.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/json.h>

namespace dragoman::corpus {
namespace {

using core::Json;

double mean(std::uint64_t sum, std::uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

std::string bucket_name(std::size_t i) {
  if (i == kLengthBuckets.size()) return fmt::format("{}-", kLengthBuckets.back() + 1);
  const std::uint64_t first = i == 0 ? 0 : kLengthBuckets[i - 1] + 1;
  return first == kLengthBuckets[i] ? fmt::format("{}", first) : fmt::format("{}-{}", first, kLengthBuckets[i]);
}

Json side_to_json(const SideStatistics& side, std::uint64_t pairs) {
  Json histogram = Json::array();
  for (std::size_t i = 0; i < side.histogram.size(); ++i) {
    Json bucket{{"from", i == 0 ? 0 : kLengthBuckets[i - 1] + 1}, {"count", side.histogram[i]}};
    if (i < kLengthBuckets.size()) bucket["to"] = kLengthBuckets[i];
    histogram.push_back(std::move(bucket));
  }
  return {{"words", side.words},
          {"characters", side.characters},
          {"bytes", side.bytes},
          {"mean_length", mean(side.length, pairs)},
          {"lengths", std::move(histogram)}};
}

}  // namespace

void SideStatistics::add(std::uint64_t text_bytes, std::uint64_t text_words, std::uint64_t text_characters,
                         std::uint64_t text_length) {
  bytes += text_bytes;
  words += text_words;
  characters += text_characters;
  length += text_length;
  ++histogram[static_cast<std::size_t>(std::ranges::lower_bound(kLengthBuckets, text_length) - kLengthBuckets.begin())];
}

SideStatistics& SideStatistics::operator+=(const SideStatistics& other) {
  bytes += other.bytes;
  words += other.words;
  characters += other.characters;
  length += other.length;
  for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] += other.histogram[i];
  return *this;
}

PairStatistics& PairStatistics::operator+=(const PairStatistics& other) {
  pairs += other.pairs;
  source += other.source;
  target += other.target;
  return *this;
}

double PairStatistics::ratio() const {
  return mean(source.length, target.length);
}

std::string_view name_of(LengthUnit unit) {
  switch (unit) {
    case LengthUnit::kCharacters:
      return "characters";
    case LengthUnit::kPieces:
      return "pieces";
    case LengthUnit::kWords:
      break;
  }
  return "words";
}

Json to_json(const PairStatistics& statistics) {
  return {{"pairs", statistics.pairs},
          {"ratio", statistics.ratio()},
          {"source", side_to_json(statistics.source, statistics.pairs)},
          {"target", side_to_json(statistics.target, statistics.pairs)}};
}

std::string describe(const PairStatistics& statistics, LengthUnit unit) {
  const SideStatistics& a = statistics.source;
  const SideStatistics& b = statistics.target;
  std::string text = fmt::format("{:<22}{:>16}{:>16}\n", "", "source", "target");
  const auto row = [&](const std::string& name, std::uint64_t source, std::uint64_t target) {
    text += fmt::format("{:<22}{:>16}{:>16}\n", name, source, target);
  };
  row("words", a.words, b.words);
  row("characters", a.characters, b.characters);
  row("bytes", a.bytes, b.bytes);
  text += fmt::format("{:<22}{:>16.2f}{:>16.2f}\n", fmt::format("mean {}", name_of(unit)),
                      mean(a.length, statistics.pairs), mean(b.length, statistics.pairs));
  for (std::size_t i = 0; i < a.histogram.size(); ++i)
    if (a.histogram[i] + b.histogram[i] > 0)
      row(fmt::format("{} {}", bucket_name(i), name_of(unit)), a.histogram[i], b.histogram[i]);
  return text;
}

}  // namespace dragoman::corpus
