#pragma once

#include "regex/pattern_program.h"
#include "regex/search_work.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// A regular expression with the semantics of backtracking programs: the first alternative that leads to a match, and
/// the longest repetition unless it is lazy. A search takes time linear in the text for any expression: no position is
/// entered twice from the same step, since a failure there would repeat itself. Immutable and thread-safe.
class Pattern {
 public:
  /// Throws like parse_pattern().
  explicit Pattern(std::string_view pattern);

  struct Match {
    std::size_t begin;
    std::size_t end;
  };

  /// Finds the matches in one text, from left to right. Pattern and text must outlive it.
  class Search {
   public:
    Search(const Pattern& pattern, std::string_view text)
        : pattern_(pattern), text_(text), own_work_(text.size()), work_(own_work_) {}
    /// Uses the budget of several searches, which must outlive it.
    Search(const Pattern& pattern, std::string_view text, SearchWork& work)
        : pattern_(pattern), text_(text), own_work_(0), work_(work) {}
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    /// Returns the next match after the last one. Throws
    ///
    /// - Error{kBadInput} if the text is too long for the pattern: 128 MiB hold a bit for each byte of the text and
    ///   each alternative and repetition of the pattern, and another 128 MiB hold the pending alternatives and
    ///   repetitions of one match, of eight bytes each;
    /// - Error{kBadInput} if the search needs more steps than SearchWork allows;
    /// - Error{kInterrupted} after a stop request.
    std::optional<Match> next();

   private:
    struct State {
      std::uint32_t step;
      std::uint32_t at;
    };

    std::optional<std::size_t> end_of_match(std::size_t begin);
    bool enter_split(std::uint32_t memory, std::size_t at);
    void put_off(std::uint32_t step, std::size_t at);
    void make_memory();
    [[noreturn]] void give_up() const;

    const Pattern& pattern_;
    std::string_view text_;
    SearchWork own_work_;
    SearchWork& work_;
    std::size_t at_ = 0;
    std::vector<std::uint64_t> failed_;  ///< by position and split
    std::vector<State> waiting_;         ///< second branches of splits, the latest last
  };

  /// Returns whether no match contains this character, or depends on whether it follows or the text ends.
  bool stops_before(char32_t character) const;

 private:
  void find_first_bytes();
  void add_first_bytes(const icu::UnicodeSet& characters);

  PatternProgram program_;
  std::array<bool, 256> first_bytes_{};  ///< with which a match can begin
};

}  // namespace dragoman::tokenizer
