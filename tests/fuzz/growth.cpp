#include "growth.h"

#include "mutation.h"

#include <algorithm>
#include <cctype>
#include <random>
#include <vector>

namespace dragoman::fuzz {
namespace {

/// A level: `bytes[begin, inner_begin)` opens it, and `bytes[inner_end, end)` closes it.
struct Level {
  std::size_t begin = 0;
  std::size_t inner_begin = 0;
  std::size_t inner_end = 0;
  std::size_t end = 0;
};

/// Levels of brackets that close. A level reaches to the first one within it, so that it can stand in its place.
std::vector<Level> levels_of(std::string_view bytes) {
  constexpr std::string_view kOpening = "([{<";
  constexpr std::string_view kClosing = ")]}>";
  std::vector<Level> levels;
  std::vector<Level> open;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (kOpening.find(bytes[i]) != std::string_view::npos) {
      open.push_back({.begin = i, .inner_begin = 0, .inner_end = 0, .end = 0});
    } else if (const std::size_t kind = kClosing.find(bytes[i]);
               kind != std::string_view::npos && !open.empty() && bytes[open.back().begin] == kOpening[kind]) {
      Level level = open.back();
      open.pop_back();
      level.end = i + 1;
      if (level.inner_begin == 0) {
        level.inner_begin = level.begin + 1;
        level.inner_end = i;
      }
      if (!open.empty() && open.back().inner_begin == 0) {
        open.back().inner_begin = level.begin;
        open.back().inner_end = level.end;
      }
      levels.push_back(level);
    }
  }
  return levels;
}

std::string times(std::string_view text, std::size_t count) {
  std::string result;
  result.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

std::size_t room(std::string_view seed, std::size_t size) {
  return size > seed.size() ? size - seed.size() : 0;
}

std::string nest(std::string_view seed, unsigned pick, std::size_t size) {
  const std::vector<Level> levels = levels_of(seed);
  const Level level = levels.empty() ? Level{} : levels[std::mt19937(pick)() % levels.size()];
  const std::string_view opening = levels.empty() ? "[" : seed.substr(level.begin, level.inner_begin - level.begin);
  const std::string_view closing = levels.empty() ? "]" : seed.substr(level.inner_end, level.end - level.inner_end);
  const std::size_t count = room(seed, size) / (opening.size() + closing.size());
  return std::string(seed.substr(0, level.begin)) + times(opening, count) +
         std::string(seed.substr(level.begin, level.end - level.begin)) + times(closing, count) +
         std::string(seed.substr(level.end));
}

std::string lengthen_word(std::string_view seed, unsigned pick, std::size_t size) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= seed.size(); ++i)
    if (std::isalpha(static_cast<unsigned char>(seed[i - 1])) != 0 &&
        (i == seed.size() || std::isalnum(static_cast<unsigned char>(seed[i])) == 0))
      ends.push_back(i);
  const std::size_t end = ends.empty() ? seed.size() : ends[std::mt19937(pick)() % ends.size()];
  return std::string(seed.substr(0, end)) + std::string(room(seed, size), 'x') + std::string(seed.substr(end));
}

std::string refer(std::string_view seed, std::size_t size) {
  constexpr std::string_view kElement = "e, ";
  constexpr std::string_view kReference = "*v, ";
  const std::size_t half = room(seed, size) / 2;
  return "value: &v [" + times(kElement, half / kElement.size()) + "e]\nreferences: [" +
         times(kReference, half / kReference.size()) + "*v]\n" + std::string(seed);
}

}  // namespace

SplitSeed split_files(std::string_view seed) {
  const std::size_t end = seed.find("\n%%\n");
  return {seed.substr(0, end), seed.substr(std::min(end, seed.size()))};
}

std::string parts(std::size_t size, const std::function<std::string(std::size_t)>& part) {
  std::string text;
  for (std::size_t number = 0; text.size() < size; ++number) text += part(number);
  return text;
}

std::string grow(std::string_view seed, Growth growth, unsigned pick, std::size_t size) {
  std::mt19937 random(pick);
  switch (growth) {
    case Growth::kRepeat:
      return repeat_part(seed, size, random, Numbering::kNone);
    case Growth::kManyNames:
      return repeat_part(seed, size, random, Numbering::kEach);
    case Growth::kNest:
      return nest(seed, pick, size);
    case Growth::kLongWord:
      return lengthen_word(seed, pick, size);
    case Growth::kAlias:
      return refer(seed, size);
  }
  return {};
}

}  // namespace dragoman::fuzz
