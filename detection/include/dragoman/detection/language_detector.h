#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::detection {

/// A language that a text may be in.
struct Guess {
  /// ISO 639-1 code: "de". Chinese in traditional characters is "zh-Hant", in simplified characters "zh".
  std::string language;
  /// Between 0 and 1: the estimated probability. The confidences of all languages sum to at most 1. For bytes that look
  /// like no text, such as random ones or a repeated letter, all of them are low.
  double confidence = 0;
};

class DetectorTable;

/// Detects the language of a text by a linear model over character n-grams (docs/project/decisions/014). Scripts that
/// only one language is written in need no model. It is built for short texts: a word, a sentence.
///
///     const auto guesses = built_in_detector().detect("Guten Morgen!");
///     if (!guesses.empty()) std::cout << guesses.front().language;   // de
///
/// Threads may share an object. Copies share the table.
class LanguageDetector {
 public:
  /// Reads a file that learn_detector() wrote. Error{kIo or kBadInput} names the file.
  explicit LanguageDetector(const std::filesystem::path& file);
  /// Reads the content of such a file. `name` stands for the file in errors.
  static LanguageDetector from_bytes(std::string_view bytes, std::string_view name);

  /// Returns up to `most` languages, the likeliest first; languages of equal confidence in the order of their codes.
  /// Returns nothing for a text without letters of a known script: digits, punctuation, emoji, an address of the web.
  ///
  /// A text in several scripts gets the languages of each, weighted by the number of letters. If a text is
  /// longer than kMaxBytes, only evenly spread parts of kMaxBytes in all are read, so the time is bounded. Bytes that
  /// are not UTF-8 separate words. The result has the same bits on every machine with the same C library.
  std::vector<Guess> detect(std::string_view text, std::size_t most = 3) const;

  /// Returns a detector that chooses between these languages only, such as those that a server translates. Its
  /// confidences are for texts that are in one of them. Error{kInvalidArgument} if the list is empty or names a
  /// language that is not in languages().
  LanguageDetector among(const std::vector<std::string>& languages) const;

  /// Returns the languages that it chooses between, sorted.
  std::vector<std::string> languages() const;

  static constexpr std::size_t kMaxBytes = std::size_t{64} << 10;

 private:
  LanguageDetector(std::shared_ptr<const DetectorTable> table, std::vector<bool> allowed);

  std::shared_ptr<const DetectorTable> table_;
  std::vector<bool> allowed_;  ///< by the index of a language in the table
};

/// Returns the detector that is part of the library. The reference is valid until the end of the program.
const LanguageDetector& built_in_detector();

}  // namespace dragoman::detection
