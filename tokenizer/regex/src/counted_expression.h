#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

inline constexpr std::string_view kCountStep = "DRAGOMAN_STEP";
inline constexpr std::string_view kCountReference = "DRAGOMAN_REFERENCE";

/// An expression for Oniguruma with calls of kCountStep, so that the work of a search between two calls is bounded.
struct CountedExpression {
  std::string text;
  std::size_t longest_run = 0;  ///< the largest number of characters of the expression without a call
};

/// Adds calls to an expression that Oniguruma can read: one at the start of each branch, one in each iteration of a
/// repetition, and one of kCountReference before each back reference. The matches are unchanged. Throws
/// Error{kUnsupported} for syntax whose work cannot be counted: absent operators, conditions, callouts, comments, free
/// spacing, \X, \y and \Y, control escapes.
CountedExpression count_steps_of(std::string_view expression);

}  // namespace dragoman::tokenizer
