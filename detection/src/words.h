#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::detection {

/// A script, or scripts that are mixed in one language, in which several languages are written.
enum class Writing : std::uint8_t { kLatin, kCyrillic, kArabic, kDevanagari, kBengali, kHebrew, kHan, kOther };

/// The number of writings that a table has models for: all but kOther.
inline constexpr std::size_t kWritings = 7;

/// A run of letters and marks of one writing, in lower case.
struct Word {
  Writing writing = Writing::kOther;
  /// For kOther: the only language that is written in the script, or empty if it is not known.
  std::string_view language;
  std::vector<char32_t> letters;
};

/// Returns the languages that words of kOther may have.
std::vector<std::string_view> languages_of_scripts();

/// Splits a text into words. Addresses (of mail, of the web) are skipped, since they are in no language.
///
///     WordReader reader("L'été, 3 mai");
///     for (Word word; reader.next(word);) {}   // l'été, mai
class WordReader {
 public:
  /// `text` must outlive the reader.
  explicit WordReader(std::string_view text) : text_(text) {}
  /// Stores the next word and returns true, or returns false at the end.
  bool next(Word& word);

 private:
  /// Reads the character at position_, or returns a negative value for bytes that are not UTF-8.
  std::int32_t read();
  /// Returns the end of the address that starts at position_, or position_ if there is none.
  std::size_t end_of_address() const;

  std::string_view text_;
  std::size_t position_ = 0;
  bool at_start_ = true;  ///< of a run of ASCII characters without spaces
};

/// Returns the text in NFC, so that letters with accents are one character. `buffer` owns the result if it differs.
std::string_view composed(std::string_view text, std::string& buffer);

}  // namespace dragoman::detection
