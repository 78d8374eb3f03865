#pragma once

#include "stored_zip.h"
#include "target.h"

#include <string>
#include <string_view>

#include <dragoman/detection/language_detector.h>

namespace dragoman::fuzz {

/// Reads the bytes as a table for language detection, and detects languages with it.
inline bool exercise_detector_table(std::string_view bytes) {
  return accepts([&] {
    const auto detector = detection::LanguageDetector::from_bytes(bytes, "fuzz");
    promise(!detector.languages().empty(), "a table has languages");
    for (const std::string_view text : {"Guten Morgen, l'été", "доброе утро", "おはよう", "שלום"}) {
      const auto guesses = detector.detect(text, 1000);
      promise(guesses.size() <= detector.languages().size(), "each language is guessed once");
      for (const auto& guess : guesses)
        promise(guess.confidence > 0 && guess.confidence <= 1, "a confidence is a probability");
    }
  });
}

/// More rows of numbers, which stand at the end of the table. See DetectorTable::bytes().
inline std::string many_rows(std::string_view seed, std::size_t size) {
  constexpr std::size_t kPlaceOfRows = 12;
  const std::size_t width = number_at(seed, kPlaceOfRows + 4, 4);
  std::string text(seed);
  text.replace(kPlaceOfRows, 4, little_endian(number_at(seed, kPlaceOfRows, 4) + size / width, 4));
  return text + std::string(size / width * width, '\1');
}

inline Target detector_table_target() {
  return {
      .name = "detector_table",
      .exercise = exercise_detector_table,
      .growths = {{"many rows", "six_languages", many_rows}},
  };
}

}  // namespace dragoman::fuzz
