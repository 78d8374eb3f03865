#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::training {

/// A line of a file with vectors.
struct WordVector {
  std::string_view piece;
  std::span<const double> values;
  std::uint64_t line = 0;  ///< counts from 1
};

/// Parses vectors in the text format of word2vec and GloVe: "piece v1 ... vd" in each line, separated by spaces or
/// tabs. An optional first line is "count d": two integers, unless d is 1, in which case it would be a vector. The text
/// comes in parts of any size. A CR before LF and a byte order mark at the beginning are ignored.
///
///     WordVectorParser parser("vectors.txt", 512, [&](const WordVector& vector) { ... });
///     while (...) parser.feed(bytes);
///     parser.finish();
class WordVectorParser {
 public:
  using Visit = std::function<void(const WordVector&)>;

  /// `name` appears in messages. The argument of `visit` is valid during the call.
  WordVectorParser(std::string name, std::int64_t width, Visit visit);

  /// Parses more text. Error{kBadInput} naming file and line if a line is not a vector of `width` numbers that are
  /// finite in fp32, if it is longer than any vector, or if the header has another width. Rethrows exceptions of
  /// `visit`.
  void feed(std::string_view text);
  /// Ends the text; the last line need not be terminated. Error{kBadInput} if the number of vectors differs from the
  /// header, or is 0.
  void finish();
  std::uint64_t vectors() const noexcept { return vectors_; }

 private:
  void append(std::string_view text);
  void take_line();
  bool take_header(std::string_view line);
  void take_vector(std::string_view line);
  [[noreturn]] void fail(const std::string& message) const;

  std::string name_;
  std::int64_t width_;
  Visit visit_;
  std::string line_;
  std::vector<double> values_;
  std::uint64_t line_number_ = 0;
  std::uint64_t vectors_ = 0;
  std::optional<std::uint64_t> announced_;
};

}  // namespace dragoman::training
