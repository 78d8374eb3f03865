#pragma once

#include "words.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::detection {

/// A language in one writing: the output of the linear model of that writing.
struct Class {
  std::uint32_t language = 0;  ///< index in DetectorTable::languages()
  float bias = 0;
  std::vector<float> weights;
};

/// The model: a row of small integers for each n-gram (by its hash), and per writing a class for each language.
///
/// The score of a class is bias + weights · sum of the rows / sqrt(number of rows). Within a writing, the softmax of
/// the scores gives the probabilities.
class DetectorTable {
 public:
  /// The parts of a table, as they are learned.
  struct Parts {
    std::uint32_t width = 0;
    std::vector<std::string> languages;
    std::array<std::vector<Class>, kWritings> classes;
    std::vector<std::int8_t> rows;
  };

  /// Adds the languages of scripts to those of the parts, and sorts them.
  explicit DetectorTable(Parts parts);
  /// Reads the format of bytes(). Error{kBadInput} names `name` and the reason.
  DetectorTable(std::string_view bytes, std::string_view name);

  /// Returns the content of a table file: "DRAGODET", then 32-bit numbers, least byte first (version, rows, width,
  /// languages), the names of the languages in 16 bytes each, per writing the number of classes and the classes
  /// (language, bias, weights), and the rows, a byte per value.
  static std::string bytes(const Parts& parts);

  const std::vector<std::string>& languages() const noexcept { return languages_; }
  std::uint32_t width() const noexcept { return parts_.width; }
  const std::vector<Class>& classes(Writing writing) const { return parts_.classes[static_cast<std::size_t>(writing)]; }
  std::span<const std::int8_t> row(std::uint32_t hash) const {
    return std::span(parts_.rows).subspan(std::size_t{hash % rows_} * parts_.width, parts_.width);
  }

 private:
  void sort_languages();

  Parts parts_;
  std::uint32_t rows_ = 0;
  std::vector<std::string> languages_;
};

/// The longest code of a language in a table.
inline constexpr std::size_t kMaxLanguageName = 15;

/// Returns whether a table may contain this code: ASCII letters, digits and "-", at most kMaxLanguageName.
bool is_language_code(std::string_view code);

}  // namespace dragoman::detection
