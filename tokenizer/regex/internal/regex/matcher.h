#pragma once

#include "regex/search_work.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <dragoman/core/function_ref.h>

namespace dragoman::tokenizer {

/// The matches of a regular expression of Oniguruma's syntax in a text, found by the engine in linear time where the
/// expression is in what that reads, and else by Oniguruma itself, which goes back step by step. Immutable: any thread
/// may call.
class Matcher {
 public:
  enum class Engine {
    kLinear,     ///< Pattern
    kOniguruma,  ///< what Oniguruma reads, with calls that count its steps
  };

  /// Throws Error{kBadInput}, showing the expression, if no engine reads it.
  explicit Matcher(std::string_view expression);
  /// With one engine only.
  Matcher(std::string_view expression, Engine engine);
  ~Matcher();
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;

  /// Calls visit(begin, end) for each match, from left to right. An empty match counts, unless it stands at the end of
  /// the one before. A byte that is not UTF-8 is read as some control character. Throws Error{kBadInput} for a text
  /// with which the expression needs too much memory or more steps than SearchWork allows, and Error{kInterrupted}
  /// after a stop request (core::default_stop()).
  void for_each(std::string_view text, core::FunctionRef<void(std::size_t, std::size_t)> visit) const;
  /// Calls visit() likewise for one of several parts of a text, whose searches have one budget.
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
