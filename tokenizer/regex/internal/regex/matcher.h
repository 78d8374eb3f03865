#pragma once

#include "regex/search_work.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <dragoman/core/function_ref.h>

namespace dragoman::tokenizer {

/// Finds the matches of a regular expression in Oniguruma's syntax. Uses the linear-time engine if it supports the
/// expression, and Oniguruma itself, which backtracks, otherwise. Immutable and thread-safe.
class Matcher {
 public:
  enum class Engine {
    kLinear,     ///< Pattern
    kOniguruma,  ///< Oniguruma's syntax, with calls that count its steps
  };

  /// Throws Error{kBadInput} that shows the expression if no engine supports it.
  explicit Matcher(std::string_view expression);
  /// Uses the given engine only.
  Matcher(std::string_view expression, Engine engine);
  ~Matcher();
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;

  /// Calls visit(begin, end) for each match, from left to right. An empty match counts, except at the end of the
  /// previous one. A byte that is not UTF-8 is read as some control character.
  ///
  /// Throws Error{kBadInput} if the expression needs too much memory for the text or more steps than SearchWork allows,
  /// and Error{kInterrupted} after a stop request (core::default_stop()).
  void for_each(std::string_view text, core::FunctionRef<void(std::size_t, std::size_t)> visit) const;
  /// Like the other for_each(), for one of several parts of a text, whose searches share one budget.
  void for_each(std::string_view text, core::FunctionRef<void(std::size_t, std::size_t)> visit, SearchWork& work) const;

  Engine engine() const noexcept;
  const std::string& expression() const noexcept { return expression_; }

 private:
  class Linear;
  class Oniguruma;
  class Searcher;

  static std::unique_ptr<const Searcher> make(std::string_view expression, std::optional<Engine> engine);

  std::string expression_;
  std::unique_ptr<const Searcher> searcher_;
};

}  // namespace dragoman::tokenizer
