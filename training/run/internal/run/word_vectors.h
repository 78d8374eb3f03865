#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::training {

/// A line of a file of vectors.
struct WordVector {
  std::string_view piece;
  std::span<const double> values;
  std::uint64_t line = 0;  ///< counts from 1
};

/// Reads vectors as word2vec and GloVe write them in text: "piece v1 ... vd" in each line, separated by spaces or tabs,
/// behind a first line "count d" if there is one (two whole numbers, unless d is 1, where that would be a vector). The
/// text comes in parts of any size; a CR in front of LF, and a byte order mark at the beginning, are no part of it.
///
///     WordVectorParser parser("vectors.txt", 512, [&](const WordVector& vector) { ... });
///     while (...) parser.feed(bytes);
///     parser.finish();
class WordVectorParser {
 public:
  using Visit = std::function<void(const WordVector&)>;

  /// `name` stands in messages. What `visit` is given lives until it returns.
  WordVectorParser(std::string name, std::int64_t width, Visit visit);

  /// Throws Error{kBadInput} that names the file and the line for one that is no vector of `width` numbers which are
  /// finite in fp32, or longer than any is; a header of another width; what `visit` throws.
  void feed(std::string_view text);
  /// The last line need not be terminated. Error{kBadInput} if there are not as many vectors as the header says, or
  /// none.
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
