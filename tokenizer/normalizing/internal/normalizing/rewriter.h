#pragma once

#include "normalizing/growth.h"
#include "normalizing/normalizer.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::tokenizer {

inline void check_growth(std::size_t size, std::size_t limit) {
  core::require(
      size <= limit, core::ErrorCode::kBadInput,
      "the normalizer of this tokenizer makes a text more than {} times as long; correct its Prepend and Replace steps",
      kMaxGrowth);
}

/// Builds the result of a step and carries the offsets over from its input. Error{kInterrupted} after a stop request
/// (core::StopScope).
class Rewriter {
 public:
  /// `in` must outlive it.
  Rewriter(const AlignedText& in, std::size_t limit)
      : in_(in), tracked_(!in.origin.empty()), spans_(!in.spans.empty()), limit_(limit) {
    out_.text.reserve(in.text.size() + 8);
  }

  void keep(std::size_t begin, std::size_t end) {
    check_(end - begin);
    out_.text.append(in_.text, begin, end - begin);
    if (tracked_)
      out_.origin.insert(out_.origin.end(), in_.origin.begin() + static_cast<std::ptrdiff_t>(begin),
                         in_.origin.begin() + static_cast<std::ptrdiff_t>(end));
    if (spans_)
      out_.spans.insert(out_.spans.end(), in_.spans.begin() + static_cast<std::ptrdiff_t>(begin),
                        in_.spans.begin() + static_cast<std::ptrdiff_t>(end));
  }
  /// Adds text that replaces the input at `begin`.
  void put(std::string_view text, std::size_t begin) { put(text, begin, begin); }
  /// Adds text that replaces the input at `begin`. It has the span of the input's byte at `span_of`.
  void put(std::string_view text, std::size_t begin, std::size_t span_of) {
    append(text, begin);
    if (spans_) out_.spans.insert(out_.spans.end(), text.size(), in_.spans[span_of]);
  }
  /// Adds text that replaces nothing, in front of the input at `begin`, which may be the end. Its span
  /// is that of the previous byte, or empty at the start, as in the tokenizers library.
  void insert(std::string_view text, std::size_t begin) {
    append(text, begin);
    if (spans_) out_.spans.insert(out_.spans.end(), text.size(), begin > 0 ? in_.spans[begin - 1] : LibrarySpan{0, 0});
  }
  /// Returns the size of the result so far.
  std::size_t size() const noexcept { return out_.text.size(); }
  AlignedText finish() {
    if (tracked_) out_.origin.push_back(in_.origin.back());
    return std::move(out_);
  }

 private:
  void append(std::string_view text, std::size_t begin) {
    check_growth(out_.text.size() + text.size(), limit_);
    check_(text.size());
    out_.text.append(text);
    if (tracked_) out_.origin.insert(out_.origin.end(), text.size(), in_.origin[begin]);
  }

  const AlignedText& in_;
  bool tracked_;
  bool spans_;
  std::size_t limit_;
  AlignedText out_;
  core::StopCheck check_{"encoding a text"};
};

}  // namespace dragoman::tokenizer
