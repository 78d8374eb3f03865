#pragma once

#include "words.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stop_token>
#include <vector>

#include <dragoman/detection/learn_detector.h>

namespace dragoman::detection {

/// Random numbers that are the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// Returns a number from 0 to below 1.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  /// Returns a number below `count`, which is over 0.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }

 private:
  std::mt19937_64 engine_;
};

/// The answer to a sample.
struct Sample {
  Writing writing = Writing::kLatin;
  std::size_t index = 0;  ///< in Sampler::languages(writing)
};

/// Draws texts to learn from: a writing, a language of it, and one or some words, or a whole line.
class Sampler {
 public:
  /// Reads all texts into memory. Error{kBadInput} if no writing has two languages, or a language has too few lines.
  Sampler(const std::vector<LanguageText>& texts, const std::stop_token& stop);

  /// Returns the languages with enough lines in a writing, by their index among the texts.
  std::vector<std::uint32_t> languages(Writing writing) const;

  /// Draws a sample and stores the hashes of its features, at least one.
  Sample draw(Random& random, std::vector<std::uint32_t>& features) const;

 private:
  using Line = std::vector<Word>;  ///< the words of a line in one writing
  struct Source {
    std::uint32_t language = 0;
    std::vector<Line> lines;
    std::vector<Word> distinct;  ///< words, each once
  };

  void read(const LanguageText& text, std::uint32_t language, const std::stop_token& stop);
  Writing draw_writing(Random& random) const;

  std::array<std::vector<Source>, kWritings> sources_;
  std::array<double, kWritings> shares_{};  ///< cumulative, of writings with two languages or more
};

}  // namespace dragoman::detection
