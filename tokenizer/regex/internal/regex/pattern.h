#pragma once

#include "regex/pattern_program.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// A regular expression as backtracking programs understand it (the first alternative that leads to a match, the
/// longest repetition unless it is lazy), found in time linear in the text whatever the expression: no place in the
/// text is entered twice from the same step, since what failed there once fails again. Immutable: any thread may call.
class Pattern {
 public:
  /// Throws as parse_pattern().
  Pattern(std::string_view pattern, PatternDialect dialect);

  struct Match {
    std::size_t begin;
    std::size_t end;
  };

  /// Matches in one text, from left to right. Pattern and text must outlive it.
  class Search {
   public:
    Search(const Pattern& pattern, std::string_view text) : pattern_(pattern), text_(text) {}
    /// The next match behind the last one. Throws Error{kBadInput} for a text that is too long for the pattern: 128 MiB
    /// of memory hold a bit for each byte of the text and each alternative and repetition of the pattern, and as much
    /// those of one match that there may be to come back to, of eight bytes each.
    std::optional<Match> next();

   private:
    friend class Pattern;
    struct State {
      std::uint32_t step;
      std::uint32_t at;
    };

    std::optional<std::size_t> end_of_match(std::size_t begin);
    bool enter_split(std::uint32_t memory, std::size_t at);
    void put_off(std::uint32_t step, std::size_t at);
    void make_memory();

    const Pattern& pattern_;
    std::string_view text_;
    std::size_t at_ = 0;
    std::vector<std::uint64_t> failed_;  ///< by place and split
    std::vector<State> waiting_;         ///< second ways of splits, the latest last
  };

  /// Whether a match begins at the first byte.
  bool matches_at_start(std::string_view text) const;
  /// Whether no match holds this character, nor depends on whether it follows or the text ends.
  bool stops_before(char32_t character) const;

 private:
  void find_first_bytes();
  void add_first_bytes(const icu::UnicodeSet& characters);

  PatternProgram program_;
  std::array<bool, 256> first_bytes_{};  ///< that a match can begin with
};

}  // namespace dragoman::tokenizer
