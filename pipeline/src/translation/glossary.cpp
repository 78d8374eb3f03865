#include "pipeline/glossary.h"

#include <algorithm>
#include <map>
#include <utility>

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::pipeline {
namespace {

using core::ErrorCode;

std::u32string composed(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  const icu::UnicodeString whole =
      icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())));
  const icu::UnicodeString normal = U_SUCCESS(status) != 0 ? nfc->normalize(whole, status) : whole;
  core::require(U_SUCCESS(status) != 0, ErrorCode::kUnsupported, "ICU has no NFC data: {}", u_errorName(status));
  std::u32string result;
  for (std::int32_t i = 0; i < normal.length(); i = normal.moveIndex32(i, 1))
    result.push_back(static_cast<char32_t>(normal.char32At(i)));
  return result;
}

/// Folds each character separately, so that positions are preserved.
std::u32string fold_case(std::u32string text) {
  for (char32_t& c : text) c = static_cast<char32_t>(u_foldCase(static_cast<UChar32>(c), U_FOLD_CASE_DEFAULT));
  return text;
}

bool is_word_character(char32_t c) {
  const auto point = static_cast<UChar32>(c);
  return u_isalnum(point) != 0 || c == U'_' || (U_GET_GC_MASK(point) & U_GC_M_MASK) != 0;
}

/// Returns whether a character belongs to a script without spaces between words.
bool stands_alone(char32_t c) {
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(static_cast<UChar32>(c), &status);
  return U_SUCCESS(status) != 0 && uscript_breaksBetweenLetters(script) != 0;
}

/// Returns whether a position is between words, or at an end of the text.
bool is_boundary(std::u32string_view text, std::size_t at) {
  return at == 0 || at == text.size() || !within_a_word(text[at - 1], text[at]);
}

/// The position of a line, for messages.
struct Place {
  const std::string& file;
  std::uint64_t line;
  template <class Condition, class... Arguments>
  void require(Condition holds, const char* message, const Arguments&... arguments) const {
    core::require(static_cast<bool>(holds), ErrorCode::kBadInput, "{}: line {}: {}", file, line,
                  fmt::format(fmt::runtime(message), arguments...));
  }
};

GlossaryEntry parse_entry(std::string_view line, const Place& place) {
  std::vector<std::string_view> columns;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t tab = std::min(line.find('\t', begin), line.size());
    columns.push_back(core::trim_white_space(line.substr(begin, tab - begin)));
    begin = tab + 1;
  }
  place.require(columns.size() == 2 || columns.size() == 3,
                "has {} columns; write a source term, a tab, a target term, and if you like a tab and exact or any",
                columns.size());
  for (const std::string_view term : {columns[0], columns[1]}) {
    place.require(!term.empty(), "a term is empty");
    place.require(term.size() <= Glossary::kMaxBytesOfTerm, "a term has {} bytes; there may be {}", term.size(),
                  Glossary::kMaxBytesOfTerm);
  }
  const std::string_view letters = columns.size() == 3 ? columns[2] : "any";
  place.require(letters == "exact" || letters == "any", "the third column is {}; it must be exact or any",
                core::quote(letters));
  return {std::string(columns[0]), {std::string(columns[1])}, letters == "exact"};
}

}  // namespace

bool within_a_word(char32_t before, char32_t after) {
  return is_word_character(before) && is_word_character(after) && !stands_alone(before) && !stands_alone(after);
}

Glossary Glossary::read(const std::filesystem::path& path) {
  core::LineReader lines(path);
  std::vector<GlossaryEntry> entries;
  std::map<std::pair<std::u32string, bool>, std::size_t> known;
  for (std::string line; lines.next(line);) {
    const std::uint64_t number = lines.line_number();
    const Place place{lines.name(), number};
    place.require(core::find_invalid_utf8(line) == std::string::npos, "is not valid UTF-8");
    if (core::is_blank(line)) continue;
    GlossaryEntry entry = parse_entry(line, place);
    std::u32string key = composed(entry.source);
    if (!entry.exact_case) key = fold_case(std::move(key));
    const auto [found, is_new] = known.try_emplace({std::move(key), entry.exact_case}, entries.size());
    if (is_new) {
      entries.push_back(std::move(entry));
    } else {
      std::vector<std::string>& targets = entries[found->second].targets;
      place.require(targets.size() < kMaxTargets, "{} has more than {} target terms", core::quote(entry.source),
                    kMaxTargets);
      if (std::ranges::find(targets, entry.targets.front()) == targets.end())
        targets.push_back(std::move(entry.targets.front()));
    }
  }
  return Glossary(std::move(entries));
}

Glossary::Glossary(std::vector<GlossaryEntry> entries) : entries_(std::move(entries)) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::u32string exact = composed(entries_[i].source);
    std::u32string folded = fold_case(exact);
    keys_.push_back({std::move(folded), entries_[i].exact_case ? std::move(exact) : std::u32string(), i});
  }
  std::ranges::stable_sort(keys_, [](const Key& a, const Key& b) {
    const int order = a.folded.compare(b.folded);
    return order != 0 ? order < 0 : a.exact < b.exact;
  });
}

std::vector<std::size_t> Glossary::find(std::string_view text) const {
  const std::u32string exact = composed(text);
  const std::u32string folded = fold_case(exact);
  std::vector<Match> matches;
  for (std::size_t begin = 0; begin < exact.size(); ++begin)
    if (is_boundary(exact, begin)) find_at(exact, folded, begin, matches);
  std::ranges::stable_sort(matches, [](const Match& a, const Match& b) { return a.length > b.length; });
  std::vector<bool> covered(exact.size(), false);
  std::erase_if(matches, [&](const Match& match) {
    const auto first = covered.begin() + static_cast<std::ptrdiff_t>(match.begin);
    const auto last = first + static_cast<std::ptrdiff_t>(match.length);
    if (std::find(first, last, true) != last) return true;
    std::fill(first, last, true);
    return false;
  });
  std::ranges::sort(matches, {}, &Match::begin);
  std::vector<std::size_t> found;
  core::IntegerSet<std::size_t> known;
  for (const Match& match : matches)
    if (known.insert(match.entry).second) found.push_back(match.entry);
  return found;
}

/// Finds the keys at a position. The range of keys that match the text so far shrinks with every character. An exact
/// key takes precedence over a key of any case.
void Glossary::find_at(std::u32string_view exact, std::u32string_view folded, std::size_t begin,
                       std::vector<Match>& matches) const {
  auto first = keys_.begin();
  auto last = keys_.end();
  for (std::size_t length = 1; first != last && begin + length <= folded.size(); ++length) {
    const char32_t next = folded[begin + length - 1];
    // A key that ends here precedes keys that continue.
    const auto at = [length](const Key& key) {
      return key.folded.size() < length ? std::int64_t{-1} : static_cast<std::int64_t>(key.folded[length - 1]);
    };
    first = std::ranges::lower_bound(first, last, static_cast<std::int64_t>(next), {}, at);
    last = std::ranges::upper_bound(first, last, static_cast<std::int64_t>(next), {}, at);
    if (first == last || first->folded.size() != length || !is_boundary(exact, begin + length)) continue;
    // Keys of any case come first, then the exact ones in order.
    const auto end =
        std::ranges::partition_point(first, last, [length](const Key& key) { return key.folded.size() == length; });
    // Not equal_range(), whose subrange Clang 14 cannot compile with the headers of GCC 12.
    const auto wanted = exact.substr(begin, length);
    const auto same = std::ranges::lower_bound(first, end, wanted, {}, &Key::exact);
    if (same != end && same->exact == wanted)
      matches.push_back({begin, length, same->entry});
    else if (first->exact.empty())
      matches.push_back({begin, length, first->entry});
  }
}

}  // namespace dragoman::pipeline
