#pragma once

#include "dragoman/decoding/sentence.h"

#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::decoding {

/// How far the constraints of a sentence are met by a hypothesis: a function of its tokens alone. A constraint is met
/// by an occurrence of one of its forms that begins and ends where words do (what ends the hypothesis so far may still
/// turn out to be the beginning of a longer word). Constraints may share tokens.
class ConstraintProgress {
 public:
  /// Both must outlive it.
  ConstraintProgress(const Sentence& sentence, std::span<const std::int32_t> tokens);

  /// Tokens of the shortest forms of all constraints.
  std::int32_t total() const noexcept { return total_; }
  /// Of them, those that have to follow at most.
  std::int32_t remaining() const noexcept { return remaining_; }
  /// The same with one token more.
  std::int32_t remaining_after(std::int32_t token) const;
  bool met(std::size_t constraint) const { return closed_[constraint] || ending_[constraint] != nullptr; }
  /// Appends the tokens that begin or continue what is not met.
  void append_next(std::vector<std::int32_t>& tokens) const;

 private:
  using Form = Constraint::Form;
  /// The hypothesis so far, with a token more if that is not negative.
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
  /// Of the constraints for which `open` holds.
  template <class IsOpen>
  std::int32_t count_remaining(const Text& text, const IsOpen& open) const;

  const Sentence* sentence_;
  std::span<const std::int32_t> tokens_;
  std::vector<std::int32_t> shortest_;
  /// Met whatever follows.
  std::vector<bool> closed_;
  /// The form that the hypothesis ends with, or nullptr.
  std::vector<const Form*> ending_;
  std::int32_t total_ = 0;
  std::int32_t remaining_ = 0;
};

}  // namespace dragoman::decoding
