#pragma once

#include "dragoman/decoding/sentence.h"

#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::decoding {

/// The constraints of a sentence that a hypothesis meets: a function of its tokens alone. A constraint is met by an
/// occurrence of one of its forms that begins and ends at word boundaries. A form at the end of the hypothesis may
/// still turn out to be the beginning of a longer word. Constraints may share tokens.
class ConstraintProgress {
 public:
  /// Both arguments must outlive the object.
  ConstraintProgress(const Sentence& sentence, std::span<const std::int32_t> tokens);

  /// Returns the number of tokens in the shortest forms of all constraints.
  std::int32_t total() const noexcept { return total_; }
  /// Returns an upper bound of the tokens that still have to follow.
  std::int32_t remaining() const noexcept { return remaining_; }
  /// Returns remaining() after one more token.
  std::int32_t remaining_after(std::int32_t token) const;
  bool met(std::size_t constraint) const { return closed_[constraint] || ending_[constraint] != nullptr; }
  /// Appends the tokens that begin or continue an unmet constraint.
  void append_next(std::vector<std::int32_t>& tokens) const;

 private:
  using Form = Constraint::Form;
  /// The hypothesis so far, and one more token if that is not negative.
  struct Text {
    std::span<const std::int32_t> tokens;
    std::int32_t last = -1;
    std::size_t size() const { return tokens.size() + (last >= 0 ? 1 : 0); }
    std::int32_t operator[](std::size_t i) const { return i < tokens.size() ? tokens[i] : last; }
  };

  bool joined(std::span<const std::int32_t> before, std::span<const std::int32_t> after) const;
  bool ends_with(const Text& text, const Form& form, std::size_t count) const;
  std::size_t begun(const Text& text, const Form& form) const;
  const Form* ending_form(const Text& text, const Constraint& constraint) const;
  /// Counts the constraints for which `open` is true.
  template <class IsOpen>
  std::int32_t count_remaining(const Text& text, const IsOpen& open) const;

  const Sentence* sentence_;
  std::span<const std::int32_t> tokens_;
  std::vector<std::int32_t> shortest_;
  /// Met, whatever follows.
  std::vector<bool> closed_;
  /// The form that the hypothesis ends with, or nullptr.
  std::vector<const Form*> ending_;
  std::int32_t total_ = 0;
  std::int32_t remaining_ = 0;
};

}  // namespace dragoman::decoding
