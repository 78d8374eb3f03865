#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <dragoman/corpus/characters.h>

namespace dragoman::corpus {

/// The reason to drop a pair. The filters run in this order, and the first that matches gives the reason.
enum class Reason : std::uint8_t {
  kMalformed,        ///< the line holds no pair: missing columns, invalid JSON, damaged UTF-8
  kEmpty,            ///< a side has only whitespace
  kTooShort,         ///< a side is shorter than `minimum_length`
  kTooLong,          ///< a side is longer than `maximum_length`
  kLengthRatio,      ///< the longer side is more than `maximum_ratio` times as long
  kIdentical,        ///< source equals target
  kLongWord,         ///< a word has more characters than `maximum_word_length`
  kControl,          ///< characters that do not occur in text
  kFewLetters,       ///< the share of letters is below `minimum_letters`
  kOtherScript,      ///< the share of letters in the side's script is below `minimum_script`
  kNumbers,          ///< the numbers of both sides differ: `minimum_numbers`
  kUrl,              ///< with `drop_urls`
  kMarkup,           ///< with `drop_markup`
  kDuplicate,        ///< the pair occurred before
  kDuplicateSource,  ///< the source occurred before
  kDuplicateTarget,  ///< the target occurred before
};
inline constexpr std::size_t kReasons = 16;
/// Returns the reason's name in reports and files: "too-long".
std::string_view name_of(Reason reason);

/// The unit in which filters measure the length of a side.
enum class LengthUnit : std::uint8_t { kWords, kCharacters, kPieces };

/// The thresholds of the filters.
struct FilterOptions {
  LengthUnit unit = LengthUnit::kWords;
  /// The permitted lengths of either side, in units.
  std::uint64_t minimum_length = 1;
  std::uint64_t maximum_length = 250;
  /// The largest permitted ratio of the longer side to the shorter one. 0 means no limit.
  double maximum_ratio = 9;
  bool drop_identical = true;
  /// The largest permitted number of characters in a word. 0 means no limit.
  std::uint64_t maximum_word_length = 40;
  bool drop_controls = true;
  /// The smallest permitted share of letters and marks among the characters that are not spaces. 0 disables the filter.
  double minimum_letters = 0.5;
  /// The smallest permitted share of letters in the main script, among all letters that have a script. 0 disables the
  /// filter.
  double minimum_script = 0.5;
  /// The smallest permitted similarity of the numbers in both sides: 2 * n / (a + b), where the source has a numbers,
  /// the target has b, and n are common. This is Dice's coefficient of the multisets; it is 1 if neither side has a
  /// number. 0 disables the filter. A number is a run of decimal digits of any script, without leading zeros, so 1,000
  /// and 1.000 are equal.
  double minimum_numbers = 0;
  bool drop_urls = false;
  bool drop_markup = false;
};

/// Throws Error{kInvalidArgument} that names the option that is out of range.
void check(const FilterOptions& options);

/// Returns the number of pieces into which a tokenizer splits a text. It is called from several threads.
using PieceCounter = std::function<std::size_t(std::string_view text)>;

/// The properties of one side that the filters use.
struct SideProfile {
  TextProfile text;
  std::uint64_t length = 0;  ///< in units
};

/// Decides whether to drop a pair, independently of all other pairs. Thread-safe.
///
///     const PairFilter filter({.maximum_ratio = 3}, {}, {});
///     const std::string source = "Guten Morgen!";
///     const std::string target = "Good morning!";
///     const std::optional<Reason> reason =
///         filter.judge(source, filter.source_profile(source), target, filter.target_profile(target));
///     std::cout << (reason ? name_of(*reason) : "kept");
class PairFilter {
 public:
  /// The counters are needed only for kPieces.
  PairFilter(const FilterOptions& options, PieceCounter source_pieces, PieceCounter target_pieces);
  /// Sets the expected script of each side. 0 accepts any script.
  void set_scripts(Script source, Script target) noexcept { scripts_ = {source, target}; }

  SideProfile source_profile(std::string_view text) const { return profile(text, source_pieces_); }
  SideProfile target_profile(std::string_view text) const { return profile(text, target_pieces_); }
  /// Returns the reason to drop the pair, or nullopt to keep it. Never returns one of the duplicates.
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

/// Returns Dice's coefficient of the numbers in two texts; see FilterOptions::minimum_numbers.
double likeness_of_numbers(std::string_view source, std::string_view target);
/// Returns whether the text contains a web or mail address: a scheme and "://", "www.", or NAME@HOST.TLD.
bool has_url(std::string_view text);
/// Returns whether the text contains a tag (`<b>`, `</a>`, `<br/>`, `<!--`) or a character reference (`&amp;`,
/// `&#39;`).
bool has_markup(std::string_view text);

}  // namespace dragoman::corpus
