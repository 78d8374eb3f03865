#include "run/word_vectors.h"

#include <cmath>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/core/numbers.h>
#include <dragoman/core/quote.h>

namespace dragoman::training {
namespace {

/// The maximum number of bytes of a piece, and of a number with its separator, in a file of vectors. Doubles in full
/// precision have 25.
constexpr std::int64_t kLongestPiece = 4096;
constexpr std::int64_t kLongestNumber = 64;
constexpr std::string_view kSeparators = " \t";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Returns the text up to the next separator, and removes it and the separators after it from `rest`.
std::string_view take_field(std::string_view& rest) {
  const std::string_view field = rest.substr(0, rest.find_first_of(kSeparators));
  rest.remove_prefix(field.size());
  const std::size_t next = rest.find_first_not_of(kSeparators);
  rest.remove_prefix(next == std::string_view::npos ? rest.size() : next);
  return field;
}

}  // namespace

WordVectorParser::WordVectorParser(std::string name, std::int64_t width, Visit visit)
    : name_(std::move(name)), width_(width), visit_(std::move(visit)) {
  values_.reserve(static_cast<std::size_t>(width));
}

void WordVectorParser::fail(const std::string& message) const {
  core::fail(core::ErrorCode::kBadInput, "{}: line {}: {}", name_, line_number_, message);
}

void WordVectorParser::feed(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    append(text.substr(0, end));
    if (end == std::string_view::npos) return;
    take_line();
    text.remove_prefix(end + 1);
  }
}

void WordVectorParser::append(std::string_view text) {
  const std::int64_t most = kLongestPiece + width_ * kLongestNumber;
  if (static_cast<std::int64_t>(line_.size() + text.size()) > most) {
    ++line_number_;
    fail(fmt::format("is longer than {} bytes, so it is no vector of {} numbers", most, width_));
  }
  line_ += text;
}

void WordVectorParser::finish() {
  if (!line_.empty()) take_line();
  core::require(!announced_ || *announced_ == vectors_, core::ErrorCode::kBadInput,
                "{}: line 1 says that there are {} vectors, but there are {}; is the file complete?", name_,
                announced_.value_or(0), vectors_);
  core::require(vectors_ > 0, core::ErrorCode::kBadInput, "{}: holds no vectors", name_);
}

void WordVectorParser::take_line() {
  ++line_number_;
  std::string_view line = line_;
  if (line_number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line_number_ != 1 || !take_header(line)) take_vector(line);
  line_.clear();
}

bool WordVectorParser::take_header(std::string_view line) {
  if (width_ == 1) return false;
  const auto count = core::spelled_number<std::uint64_t>(take_field(line));
  const auto width = core::spelled_number<std::int64_t>(take_field(line));
  if (!count || !width || !line.empty()) return false;
  if (*width != width_)
    fail(fmt::format("the vectors have {} numbers, but the embeddings of the model {}; give model.d_model that width",
                     *width, width_));
  announced_ = *count;
  return true;
}

void WordVectorParser::take_vector(std::string_view line) {
  std::string_view rest = line;
  const std::string_view piece = take_field(rest);
  if (piece.empty()) fail("begins with no piece");
  values_.clear();
  std::int64_t fields = 0;
  for (; !rest.empty(); ++fields) {
    const std::string_view field = take_field(rest);
    if (fields >= width_) continue;
    const auto value = core::spelled_number<double>(field);
    if (!value || !(std::abs(*value) <= std::numeric_limits<float>::max()))
      fail(fmt::format("number {} of the vector of {} is {}, which is no finite number of fp32", fields + 1,
                       core::quote(piece), core::quote(field)));
    values_.push_back(*value);
  }
  if (fields != width_)
    fail(fmt::format("the vector of {} has {} numbers, but the embeddings of the model {}", core::quote(piece), fields,
                     width_));
  ++vectors_;
  visit_({.piece = piece, .values = values_, .line = line_number_});
}

}  // namespace dragoman::training
