#include "normalizing/character_rules.h"
#include "younger_characters.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/character_maps.h>

namespace dragoman::tokenizer {
namespace {

using Text = std::u32string;

/// Characters of later versions are in Dragoman's own tables, so that a vocabulary does not depend on the library's
/// version.
constexpr std::uint8_t kLibraryVersion = 15;

bool is_character(char32_t c) {
  return U_IS_UNICODE_CHAR(static_cast<UChar32>(c));
}

bool is_in_library(char32_t c) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] > 0 && (age[0] < kLibraryVersion || (age[0] == kLibraryVersion && age[1] == 0));
}

icu::UnicodeString to_library(const Text& text) {
  icu::UnicodeString out;
  for (const char32_t c : text) out.append(static_cast<UChar32>(c));
  return out;
}

Text from_library(const icu::UnicodeString& text) {
  Text out;
  for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1))
    out.push_back(static_cast<char32_t>(text.char32At(i)));
  return out;
}

class NormalForms {
 public:
  NormalForms() {
    UErrorCode error = U_ZERO_ERROR;
    nfkc_ = icu::Normalizer2::getNFKCInstance(error);
    nfkd_ = icu::Normalizer2::getNFKDInstance(error);
    core::require(U_SUCCESS(error) != 0, core::ErrorCode::kUnsupported, "the tables of Unicode cannot be read: {}",
                  u_errorName(error));
    for (const YoungerCompatibility& range : kYoungerCompatibilities)
      for (char32_t c = range.first; c <= range.last; ++c) decomposed_[c] = Text(1, c - range.first + range.parts);
    for (const YoungerComposite& entry : kYoungerComposites) {
      decomposed_[entry.character] = entry.parts;
      composed_[Text(entry.parts)] = entry.character;
    }
  }

  Text nfkd(char32_t c) const {
    const auto found = decomposed_.find(c);
    if (found != decomposed_.end()) return found->second;
    return is_in_library(c) ? apply(*nfkd_, Text(1, c)) : Text(1, c);
  }
  Text nfkc(char32_t c) const {
    const auto found = decomposed_.find(c);
    if (found != decomposed_.end()) return compose(found->second);
    return is_in_library(c) ? apply(*nfkc_, Text(1, c)) : Text(1, c);
  }
  /// Returns the canonical composition of a result of nfkd().
  Text compose(const Text& text) const {
    const auto found = composed_.find(text);
    if (found != composed_.end()) return Text(1, found->second);
    return std::ranges::all_of(text, is_in_library) ? apply(*nfkc_, text) : text;
  }

 private:
  static Text apply(const icu::Normalizer2& form, const Text& text) {
    UErrorCode error = U_ZERO_ERROR;
    const icu::UnicodeString out = form.normalize(to_library(text), error);
    return U_SUCCESS(error) != 0 ? from_library(out) : text;
  }

  const icu::Normalizer2* nfkc_ = nullptr;
  const icu::Normalizer2* nfkd_ = nullptr;
  std::map<char32_t, Text> decomposed_;
  std::map<Text, char32_t> composed_;
};

Text apply_rules(const CharacterRules& rules, std::u32string_view text, std::size_t longest) {
  Text out;
  while (!text.empty()) {
    std::size_t length = std::min(longest, text.size());
    for (; length > 0; --length) {
      const auto rule = rules.find(Text(text.substr(0, length)));
      if (rule == rules.end()) continue;
      out += rule->second;
      break;
    }
    if (length == 0) out += text.front();
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

/// Removes the rules that shorter ones make redundant.
CharacterRules without_needless(const CharacterRules& rules) {
  std::size_t longest = 0;
  for (const auto& [source, target] : rules) longest = std::max(longest, source.size());
  CharacterRules kept;
  for (std::size_t length = 1; length <= longest; ++length)
    for (const auto& [source, target] : rules)
      if (source.size() == length && (length == 1 || apply_rules(kept, source, length - 1) != target))
        kept.emplace(source, target);
  return kept;
}

/// Calls visit(text) for every text that results from replacing characters of `parts` by characters that decompose to
/// them.
template <class Visit>
void for_each_spelling(const Text& parts, const std::map<char32_t, std::vector<char32_t>>& same, Text& spelling,
                       Visit&& visit) {
  if (spelling.size() == parts.size()) return visit(spelling);
  for (const char32_t c : same.at(parts[spelling.size()])) {
    spelling.push_back(c);
    for_each_spelling(parts, same, spelling, visit);
    spelling.pop_back();
  }
}

/// Returns the rules of normalisation form KC for single characters, and for all sequences that compose to one.
CharacterRules nfkc_rules() {
  const NormalForms forms;
  CharacterRules rules;
  std::map<char32_t, std::vector<char32_t>> same;  // by decomposition to one character, itself among them
  std::set<Text> decomposed;
  for (char32_t c = 1; c <= 0x10FFFF; ++c) {
    if (!is_character(c)) continue;
    Text composed = forms.nfkc(c);
    if (composed != Text(1, c)) rules.emplace(Text(1, c), std::move(composed));
    const Text parts = forms.nfkd(c);
    if (parts.size() == 1)
      same[parts[0]].push_back(c);
    else
      decomposed.insert(parts);
  }
  for (const Text& parts : decomposed) {
    const Text composed = forms.compose(parts);
    if (composed == parts) continue;
    Text spelling;
    for_each_spelling(parts, same, spelling, [&](const Text& text) {
      if (text != composed) rules.emplace(text, composed);
    });
  }
  return without_needless(rules);
}

/// Adds rules for other characters that count as spaces in translation, and for control characters, which are removed.
/// A full-width tilde is kept, because in Japanese it differs from a tilde.
void add_nmt_rules(CharacterRules& rules) {
  for (const char32_t c :
       {0x09, 0x0A, 0x0C, 0x0D, 0x061C, 0x1680, 0x200B, 0x200C, 0x200E, 0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD})
    rules[Text(1, c)] = U" ";
  for (char32_t c = 1; c < 0x20; ++c)
    if (!rules.contains(Text(1, c))) rules[Text(1, c)] = U"";
  for (const char32_t c : {0x7F, 0x8F, 0x9F}) rules[Text(1, c)] = U"";
  rules.erase(Text(1, 0xFF5E));
}

/// Returns the simple case folding of a character.
char32_t fold_case(char32_t c) {
  for (const YoungerFolding& range : kYoungerFoldings)
    if (c >= range.first && c <= range.last) return c - range.first + range.folded;
  return is_in_library(c) ? static_cast<char32_t>(u_foldCase(static_cast<UChar32>(c), U_FOLD_CASE_DEFAULT)) : c;
}

CharacterRules with_folded_case(CharacterRules rules) {
  for (auto& [source, target] : rules)
    for (char32_t& c : target) c = fold_case(c);
  for (char32_t c = 1; c <= 0x10FFFF; ++c)
    if (is_character(c) && fold_case(c) != c) rules.emplace(Text(1, c), Text(1, fold_case(c)));
  return without_needless(rules);
}

std::string join_names(std::span<const std::string_view> names) {
  std::string joined;
  for (const std::string_view name : names) joined.append(joined.empty() ? "" : ", ").append(name);
  return joined;
}

}  // namespace

std::vector<std::string_view> character_map_names() {
  return {"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"};
}

CharacterRules named_character_rules(std::string_view name) {
  const std::vector<std::string_view> names = character_map_names();
  core::require(std::ranges::find(names, name) != names.end(), core::ErrorCode::kInvalidArgument,
                "there is no normalisation {}; there are {}", name, join_names(names));
  if (name == "identity") return {};
  CharacterRules rules = nfkc_rules();
  if (name.starts_with("nmt_")) add_nmt_rules(rules);
  return name.ends_with("_cf") ? with_folded_case(std::move(rules)) : rules;
}

}  // namespace dragoman::tokenizer
