#include "counted_expression.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

class StepCounter {
 public:
  explicit StepCounter(std::string_view expression) : in_(expression) {}

  CountedExpression write() {
    call();
    while (at_ < in_.size()) write_next();
    longest_run_ = std::max(longest_run_, out_.size() - last_call_);
    return {std::move(out_), longest_run_};
  }

 private:
  void write_next() {
    const std::size_t begin = at_;
    switch (in_[at_]) {
      case '(':
        return write_group();
      case ')':
        return copy_to(at_ + 1);
      case '|':
        copy_to(at_ + 1);
        return call();
      case '*':
      case '+':
      case '?':
        return copy_to(at_ + 1);
      case '[':
        return write_atom(begin, class_end());
      case '\\':
        return write_escape();
      case '{':
        if (const std::size_t length = interval_length(at_); length > 0) return copy_to(at_ + length);
        return write_atom(begin, at_ + 1);
      default:
        return write_atom(begin, at_ + core::decode_utf8(in_, at_).length);
    }
  }

  void write_group() {
    std::size_t end = at_ + 1;
    if (starts_with(at_, "(*")) refuse("callouts");
    if (starts_with(at_, "(?")) {
      end = at_ + 2;
      const char kind = end < in_.size() ? in_[end] : '\0';
      const bool looks_behind = starts_with(at_, "(?<=") || starts_with(at_, "(?<!");
      if (kind == ':' || kind == '=' || kind == '!' || kind == '>') {
        ++end;
      } else if (looks_behind) {
        end += 2;
      } else if (kind == '<' || kind == '\'') {
        end = behind(kind == '<' ? '>' : '\'', end + 1);
      } else {
        return write_options(end);
      }
    }
    copy_to(end);
    call();
  }

  /// Writes (?i) or (?i:.
  void write_options(std::size_t end) {
    bool off = false;
    while (end < in_.size() && in_[end] != ':' && in_[end] != ')') {
      off = off || in_[end] == '-';
      const bool known = std::string_view("imWDSP-").find(in_[end]) != std::string_view::npos;
      if (!known && !(off && in_[end] == 'x')) refuse("this kind of group");
      ++end;
    }
    copy_to(std::min(end + 1, in_.size()));
    call();
  }

  void write_escape() {
    const std::size_t begin = at_;
    std::size_t end = at_ + 2;
    const char kind = begin + 1 < in_.size() ? in_[begin + 1] : '\0';
    const bool braces = end < in_.size() && in_[end] == '{';
    bool refers = false;
    if (kind == 'X' || kind == 'y' || kind == 'Y' || kind == 'c' || kind == 'C' || kind == 'M') refuse("this escape");
    if ((kind == 'x' || kind == 'o' || kind == 'p' || kind == 'P') && braces) {
      end = behind('}', end);
      if (in_.substr(begin, end - begin).find_first_of(" \n") != std::string_view::npos && kind != 'p' && kind != 'P')
        refuse("a list of code points");
    } else if (kind == 'x' || kind == 'u') {
      const std::size_t limit = end + (kind == 'x' ? 2 : 4);
      while (end < std::min(limit, in_.size()) && is_hex_digit(in_[end])) ++end;
    } else if (kind == 'k' || kind == 'g') {
      const char close = end < in_.size() && in_[end] == '<' ? '>' : '\'';
      end = behind(close, end + 1);
      refers = true;
    } else if (is_digit(kind)) {
      while (end < in_.size() && is_digit(in_[end])) ++end;
      if (end - begin > 2 && kind != '0') refuse("an escape of several digits (write \\k<10>)");
      if (kind == '0') end = std::min(end, begin + 4);
      refers = kind != '0';
    } else if (static_cast<unsigned char>(kind) >= 0x80) {
      end = begin + 1 + core::decode_utf8(in_, begin + 1).length;
    }
    end = std::min(end, in_.size());
    if (!refers) return write_atom(begin, end);
    out_.append("(?:(*").append(kCountReference).append(")");
    copy_to(end);
    out_ += ')';
  }

  void write_atom(std::size_t begin, std::size_t end) {
    at_ = begin;
    const bool repeats =
        end < in_.size() && (in_[end] == '*' || in_[end] == '+' || in_[end] == '?' || interval_length(end) > 0);
    if (!repeats) return copy_to(end);
    out_ += "(?:";
    call();
    copy_to(end);
    out_ += ')';
  }

  /// Returns the end of a class in brackets. It may contain other classes. The first ']' in a class is a plain
  /// character.
  std::size_t class_end() const {
    std::size_t depth = 0;
    std::size_t at = at_;
    while (at < in_.size()) {
      const char c = in_[at];
      if (c == '\\') {
        if (at + 1 < in_.size() && std::string_view("cCM").find(in_[at + 1]) != std::string_view::npos)
          refuse("a control escape");
        at += 2;
      } else if (c == '[') {
        ++depth;
        ++at;
        if (at < in_.size() && in_[at] == '^') ++at;
        if (at < in_.size() && in_[at] == ']') ++at;
      } else {
        ++at;
        if (c == ']' && --depth == 0) return at;
      }
    }
    return in_.size();
  }

  /// Returns the length of {n}, {n,}, {,m} or {n,m}, or 0 if there is none.
  std::size_t interval_length(std::size_t at) const {
    if (at >= in_.size() || in_[at] != '{') return 0;
    std::size_t end = at + 1;
    std::size_t digits = 0;
    bool comma = false;
    for (; end < in_.size() && (is_digit(in_[end]) || (in_[end] == ',' && !comma)); ++end) {
      comma = comma || in_[end] == ',';
      digits += is_digit(in_[end]) ? 1 : 0;
    }
    return digits > 0 && end < in_.size() && in_[end] == '}' ? end + 1 - at : 0;
  }

  std::size_t behind(char c, std::size_t from) const {
    const std::size_t found = in_.find(c, from);
    return found == std::string_view::npos ? in_.size() : found + 1;
  }

  bool starts_with(std::size_t at, std::string_view text) const { return in_.substr(at).starts_with(text); }

  void copy_to(std::size_t end) {
    out_ += in_.substr(at_, end - at_);
    at_ = end;
  }

  void call() {
    longest_run_ = std::max(longest_run_, out_.size() - last_call_);
    out_.append("(*").append(kCountStep).append(")");
    last_call_ = out_.size();
  }

  [[noreturn]] void refuse(std::string_view what) const {
    core::fail(core::ErrorCode::kUnsupported,
               "the pattern {} at offset {}: {} in a pattern that looks ahead or refers back is not supported, since "
               "its work cannot be counted",
               core::Quoted{in_}, at_, what);
  }

  std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
  std::size_t last_call_ = 0;
  std::size_t longest_run_ = 0;
};

}  // namespace

CountedExpression count_steps_of(std::string_view expression) {
  return StepCounter(expression).write();
}

}  // namespace dragoman::tokenizer
