#pragma once

#include "target.h"

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

inline Target detector_table_target() {
  return {.name = "detector_table", .exercise = exercise_detector_table};
}

}  // namespace dragoman::fuzz
