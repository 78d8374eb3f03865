#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <dragoman/corpus/characters.h>

namespace dragoman::corpus {

/// Why a pair is left out, in the order in which filters look: the first that objects is the reason.
enum class Reason : std::uint8_t {
  kMalformed,        ///< the line holds no pair: columns, JSON, UTF-8 that is damaged
  kEmpty,            ///< a side has nothing but white space
  kTooShort,         ///< a side is shorter than `minimum_length`
  kTooLong,          ///< a side is longer than `maximum_length`
  kLengthRatio,      ///< the longer side is more than `maximum_ratio` times as long
  kIdentical,        ///< source equals target
  kLongWord,         ///< a word has more characters than `maximum_word_length`
  kControl,          ///< characters that no text has
  kFewLetters,       ///< the share of letters is below `minimum_letters`
  kOtherScript,      ///< the share of letters of the side's script is below `minimum_script`
  kNumbers,          ///< the numbers of both sides differ: `minimum_numbers`
  kUrl,              ///< with `drop_urls`
  kMarkup,           ///< with `drop_markup`
  kDuplicate,        ///< the pair was there before
  kDuplicateSource,  ///< its source was there before
  kDuplicateTarget,  ///< its target was there before
};
inline constexpr std::size_t kReasons = 16;
/// As people and files have it: "too-long".
std::string_view name_of(Reason reason);

enum class LengthUnit : std::uint8_t { kWords, kCharacters, kPieces };

struct FilterOptions {
  LengthUnit unit = LengthUnit::kWords;
  /// Of either side, in units.
  std::uint64_t minimum_length = 1;
  std::uint64_t maximum_length = 250;
  /// Longer side to shorter side; 0 is no limit.
  double maximum_ratio = 9;
  bool drop_identical = true;
  /// Characters of a word; 0 is no limit.
  std::uint64_t maximum_word_length = 40;
  bool drop_controls = true;
  /// Letters and marks among the characters that are not spaces; 0 is off.
  double minimum_letters = 0.5;
  /// Letters of the main script among all that have a script; 0 is off.
  double minimum_script = 0.5;
  /// 2 * n / (a + b) for the a numbers of the source and b of the target, of which n are common (Dice's coefficient of
  /// the multisets; 1 where neither side has one); 0 is off. A number is a run of decimal digits of any script, without
  /// zeros at its beginning, so that 1,000 and 1.000 are equal.
  double minimum_numbers = 0;
  bool drop_urls = false;
  bool drop_markup = false;
};

/// Error{kInvalidArgument} naming what is out of range.
void check(const FilterOptions& options);

/// How many pieces a tokenizer makes of a text. Called from several threads.
using PieceCounter = std::function<std::size_t(std::string_view text)>;

struct SideProfile {
  TextProfile text;
  std::uint64_t length = 0;  ///< in units
};

/// What filters say of a pair by itself. Thread-safe.
class PairFilter {
 public:
  /// Counters are needed for kPieces only. Scripts: of each side; 0 takes any.
  PairFilter(const FilterOptions& options, PieceCounter source_pieces, PieceCounter target_pieces);
  void set_scripts(Script source, Script target) noexcept { scripts_ = {source, target}; }

  SideProfile source_profile(std::string_view text) const { return profile(text, source_pieces_); }
  SideProfile target_profile(std::string_view text) const { return profile(text, target_pieces_); }
  /// The reason to leave the pair out; nothing if it is fit. Never one of the duplicates.
  std::optional<Reason> judge(std::string_view source, const SideProfile& source_side, std::string_view target,
                              const SideProfile& target_side) const;

 private:
  SideProfile profile(std::string_view text, const PieceCounter& pieces) const;
  std::optional<Reason> judge_length(const SideProfile& source, const SideProfile& target) const;
  std::optional<Reason> judge_characters(const SideProfile& side, Script script) const;

  FilterOptions options_;
  PieceCounter source_pieces_;
  PieceCounter target_pieces_;
  std::array<Script, 2> scripts_{};
};

/// Dice's coefficient of the numbers in two texts: FilterOptions::minimum_numbers.
double likeness_of_numbers(std::string_view source, std::string_view target);
/// Whether there is an address of the web or of mail: a scheme and "://", "www.", or NAME@HOST.TLD.
bool has_url(std::string_view text);
/// Whether there is a tag (`<b>`, `</a>`, `<br/>`, `<!--`) or a character reference (`&amp;`, `&#39;`).
bool has_markup(std::string_view text);

}  // namespace dragoman::corpus
