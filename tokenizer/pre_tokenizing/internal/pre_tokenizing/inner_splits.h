#pragma once

#include <cstddef>
#include <string_view>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Matches between a lower-case letter and an upper-case one.
inline constexpr std::string_view kCasePattern = R"((?<=\p{Ll})(?=\p{Lu}))";

/// Returns the end of the run that begins at `begin` < text.size(): letters or numbers with the combining marks after
/// them, or other characters. A word mark belongs to the characters after it.
std::size_t character_run_end(std::string_view text, std::size_t begin);
/// Matches the same runs as character_run_end(), one after the other.
inline constexpr std::string_view kPunctuationPattern =
    R"(\u2581?\p{L}[\p{L}\p{M}]*|\u2581?\p{N}[\p{N}\p{M}]*|[^\p{L}\p{N}]+)";

/// Rules for splitting words further, in addition to spaces and patterns.
struct InnerSplits {
  bool at_digits = false;  ///< each character of Unicode's category N is a part
  bool at_case = false;    ///< a part ends between a lower-case and an upper-case letter
  /// Letters, numbers and other characters are separate runs, which the rules above split further.
  bool at_runs = false;

  static InnerSplits of(const BpeDefinition& definition) {
    const InnerCuts& cuts = definition.inner_cuts();
    return {.at_digits = cuts.digits, .at_case = cuts.letter_case, .at_runs = cuts.punctuation};
  }

  bool any() const { return at_digits || at_case || at_runs; }
  /// Calls visit(begin, end) for each part of [begin, end) of the text.
  template <class Visit>
  void for_each(std::string_view text, std::size_t begin, std::size_t end, Visit&& visit) const {
    while (begin < end) {
      const std::size_t run_end = at_runs ? character_run_end(text.substr(0, end), begin) : end;
      while (begin < run_end) {
        const std::size_t part_end = at_digits || at_case ? end_of_part(text.substr(0, run_end), begin) : run_end;
        visit(begin, part_end);
        begin = part_end;
      }
    }
  }

  /// Returns the end of the first part of a text that is not empty.
  std::size_t end_of_first(std::string_view text) const {
    const std::size_t run_end = at_runs ? character_run_end(text, 0) : text.size();
    return at_digits || at_case ? end_of_part(text.substr(0, run_end), 0) : run_end;
  }

 private:
  std::size_t end_of_part(std::string_view run, std::size_t start) const;
};

}  // namespace dragoman::tokenizer
