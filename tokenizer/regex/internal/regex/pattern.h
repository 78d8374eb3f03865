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

/// A regular expression as backtracking programs understand it (the first alternative that leads to a match, the
/// longest repetition unless it is lazy), found in time linear in the text whatever the expression: no place in the
/// text is entered twice from the same step, since what failed there once fails again. Immutable: any thread may call.
class Pattern {
 public:
  /// Throws as parse_pattern().
  explicit Pattern(std::string_view pattern);

  struct Match {
    std::size_t begin;
    std::size_t end;
  };

  /// Matches in one text, from left to right. Pattern and text must outlive it.
  class Search {
   public:
    Search(const Pattern& pattern, std::string_view text)
        : pattern_(pattern), text_(text), own_work_(text.size()), work_(own_work_) {}
    /// With the budget of several searches, which must outlive it.
    Search(const Pattern& pattern, std::string_view text, SearchWork& work)
        : pattern_(pattern), text_(text), own_work_(0), work_(work) {}
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    /// The next match after the last one. Throws Error{kBadInput} for a text that is too long for the pattern: 128 MiB
    /// of memory hold a bit for each byte of the text and each alternative and repetition of the pattern. Another
    /// 128 MiB hold the alternatives and repetitions to come back to in one match, of eight bytes each. Throws
    /// Error{kBadInput}, too, if the search needs more steps than SearchWork allows, and Error{kInterrupted} after a
    /// stop request.
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
    std::vector<std::uint64_t> failed_;  ///< by place and split
    std::vector<State> waiting_;         ///< second ways of splits, the latest last
  };

  /// Whether no match holds this character, nor depends on whether it follows or the text ends.
  bool stops_before(char32_t character) const;

 private:
  void find_first_bytes();
  void add_first_bytes(const icu::UnicodeSet& characters);

  PatternProgram program_;
  std::array<bool, 256> first_bytes_{};  ///< that a match can begin with
};

}  // namespace dragoman::tokenizer
