#include "formats/subword_nmt.h"

#include "base/index.h"
#include "merging/merge_word.h"
#include "text_fields.h"

#include <algorithm>
#include <map>
#include <set>

#include <unicode/uchar.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;

constexpr std::string_view kSuffix = "</w>";
constexpr std::string_view kVersionMark = "#version:";
constexpr const char* kUnknownPiece = "<unk>";
/// Limits the memory for splitting all pieces of a hostile file.
constexpr std::size_t kMaxExpansion = std::size_t{1} << 26;

struct Rule {
  std::string left;
  std::string right;
};

/// The contents of the file's lines.
struct CodesFile {
  bool separate_suffix = false;
  std::vector<Rule> rules;         // without repetitions
  std::vector<std::size_t> lasts;  // the last position of each rule
  std::vector<std::size_t> lines;  // the rule on each line
};

/// Returns whether the suffix is a separate symbol in this version. The version is parsed like in subword-nmt: the last
/// word of the line, without trailing ".0".
bool has_separate_suffix(std::string_view line, const std::string& name) {
  std::string_view version = strip(line.substr(kVersionMark.size()), " \t\r");
  version = version.substr(version.find_last_of(" \t") + 1);
  while (version.ends_with(".0")) version.remove_suffix(2);
  if (version == "0.1") return true;
  require(version == "0.2", ErrorCode::kUnsupported,
          "{}: line 1: version {} of codes is not supported; 0.1 and 0.2 are", name, Quoted{version});
  return false;
}

/// Text that looks like the end of a word would change the meaning of the merges.
void check_suffix(const Rule& rule, bool separate_suffix, const std::string& where) {
  const std::string result = rule.left + rule.right;
  const std::size_t place = result.find(kSuffix);
  if (place == std::string::npos) return;
  require(place + kSuffix.size() == result.size() && rule.right.ends_with(kSuffix) && !rule.left.empty(),
          ErrorCode::kUnsupported, "{}: {} and {} spell {} inside a word; take this merge out", where,
          Quoted{rule.left}, Quoted{rule.right}, kSuffix);
  require(separate_suffix || rule.right != kSuffix, ErrorCode::kBadInput,
          "{}: {} stands alone, which only version 0.1 of codes has; correct the first line", where, kSuffix);
}

Rule read_rule(std::string_view line, FileKind kind, const std::string& where) {
  const auto fields = split_at(strip(line, "\r "), ' ');
  const std::size_t count = kind == FileKind::kFastBpe ? 3 : 2;
  require(fields.size() == count && std::ranges::none_of(fields, &std::string_view::empty), ErrorCode::kBadInput,
          "{}: expected {} with one space between, found {} fields", where,
          count == 3 ? "two pieces and a count" : "two pieces", fields.size());
  require(count == 2 || parse_integer(fields[2]), ErrorCode::kBadInput, "{}: {} is not a count", where,
          Quoted{fields.back()});
  require(core::find_invalid_utf8(line) == std::string::npos, ErrorCode::kBadInput, "{}: not valid UTF-8", where);
  return {std::string(fields[0]), std::string(fields[1])};
}

CodesFile read_lines(std::string_view text, FileKind kind, const std::string& name) {
  CodesFile file;
  core::TextMap<std::size_t> known;
  while (text.ends_with('\n')) text.remove_suffix(1);
  const auto lines = split_at(text, '\n');
  std::size_t first = 0;
  if (kind == FileKind::kSubwordNmt) {
    file.separate_suffix = !text.starts_with(kVersionMark) || has_separate_suffix(lines[0], name);
    first = text.starts_with(kVersionMark) ? 1 : 0;
  }
  for (std::size_t i = first; i < lines.size(); ++i) {
    const std::string where = fmt::format("{}: line {}", name, i + 1);
    Rule rule = read_rule(lines[i], kind, where);
    check_suffix(rule, file.separate_suffix, where);
    const auto [place, is_new] = known.emplace(fmt::format("{} {}", rule.left, rule.right), file.rules.size());
    file.lines.push_back(place->second);
    if (is_new) {
      file.rules.push_back(std::move(rule));
      file.lasts.push_back(i);
    } else {
      file.lasts[place->second] = i;
    }
  }
  return file;
}

class DefinitionBuilder {
 public:
  explicit DefinitionBuilder(const CodesFile& file) {
    add(kUnknownPiece);
    definition_.unknown = 0;
    definition_.added_tokens.push_back({.id = 0, .special = true});
    add_characters(file);
    add_merges(file);
    if (file.separate_suffix) add_final_forms();
  }

  BpeDefinition finish() { return std::move(definition_); }

 private:
  std::int32_t add(const std::string& piece) {
    const auto [place, is_new] = ids_.emplace(piece, static_cast<std::int32_t>(definition_.pieces.size()));
    if (is_new) definition_.pieces.push_back(piece);
    return place->second;
  }

  void add_characters(const CodesFile& file) {
    std::set<char32_t> characters;
    const auto collect = [&](std::string_view piece) {
      if (piece.ends_with(kSuffix)) piece.remove_suffix(kSuffix.size());
      for (std::size_t i = 0; i < piece.size();) {
        const core::DecodedCharacter c = core::decode_utf8(piece, i);
        characters.insert(c.code_point);
        i += c.length;
      }
    };
    for (const Rule& rule : file.rules) {
      collect(rule.left);
      collect(rule.right);
    }
    if (file.separate_suffix) add(std::string(kSuffix));
    for (const char32_t character : characters) {
      std::string piece;
      core::append_utf8(piece, character);
      add(piece);
      add(piece.append(kSuffix));
    }
  }

  void add_merges(const CodesFile& file) {
    for (const Rule& rule : file.rules) {
      const std::int32_t left = add(rule.left);
      const std::int32_t right = add(rule.right);
      definition_.merges.push_back({left, right, add(rule.left + rule.right)});
    }
  }

  /// Adds final forms: a separate end of word that merged with nothing leaves a piece that ends its word.
  void add_final_forms() {
    const std::size_t count = definition_.pieces.size();
    for (std::size_t i = 1; i < count; ++i)
      if (!definition_.pieces[i].ends_with(kSuffix)) add(definition_.pieces[i] + std::string(kSuffix));
  }

  BpeDefinition definition_;
  core::TextMap<std::int32_t> ids_;
};

// ---- a restricted vocabulary

using Vocabulary = core::TextSet;

Vocabulary read_vocabulary(const ReadOptions& options) {
  Vocabulary words;
  core::LineReader lines(options.vocabulary);
  for (std::string line; lines.next(line);) {
    const auto fields = split_at(strip(line, "\r "), ' ');
    const auto count = fields.size() == 2 ? parse_integer(fields[1]) : std::nullopt;
    require(count.has_value(), ErrorCode::kBadInput, "{}: line {}: expected a piece and its count", lines.name(),
            lines.line_number());
    if (*count >= options.vocabulary_threshold) words.emplace(fields[0]);
  }
  return words;
}

/// Splits each piece outside the vocabulary like subword-nmt: undoes merges until the parts are in the vocabulary or no
/// merge produces them.
class PieceSplitter {
 public:
  PieceSplitter(const BpeDefinition& definition, const CodesFile& file, const std::string& separator,
                const Vocabulary& vocabulary)
      : definition_(definition), separator_(separator), merges_(definition.pieces.size(), kNone) {
    for (const std::string& piece : definition.pieces) listed_.push_back(vocabulary.contains(shown(piece)));
    for (std::size_t i = 0; i < definition.merges.size(); ++i) {
      std::size_t& chosen = merges_[index(definition.merges[i].result)];
      if (chosen == kNone || file.lasts[i] < file.lasts[chosen]) chosen = i;
    }
  }

  std::map<std::int32_t, std::vector<std::int32_t>> split_all(const std::string& name) const {
    std::map<std::int32_t, std::vector<std::int32_t>> expansions;
    std::size_t total = 0;
    for (std::size_t i = 0; i < merges_.size(); ++i) {
      if (listed_[i] || merges_[i] == kNone) continue;
      const auto id = static_cast<std::int32_t>(i);
      total += expansions.emplace_hint(expansions.end(), id, split(id))->second.size();
      require(total < kMaxExpansion, ErrorCode::kBadInput,
              "{}: pieces outside the vocabulary split into too many; use a larger vocabulary", name);
    }
    return expansions;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::string shown(const std::string& piece) const {
    if (piece.ends_with(kSuffix)) return piece.substr(0, piece.size() - kSuffix.size());
    return piece + separator_;
  }

  std::vector<std::int32_t> split(std::int32_t whole) const {
    std::vector<std::int32_t> parts;
    std::vector<std::int32_t> waiting = {whole};
    while (!waiting.empty()) {
      const std::int32_t id = waiting.back();
      waiting.pop_back();
      if (listed_[index(id)] || merges_[index(id)] == kNone) {
        parts.push_back(id);
      } else {
        waiting.push_back(definition_.merges[merges_[index(id)]].right);
        waiting.push_back(definition_.merges[merges_[index(id)]].left);
      }
    }
    return parts;
  }

  const BpeDefinition& definition_;
  const std::string& separator_;
  std::vector<bool> listed_;         // by id
  std::vector<std::size_t> merges_;  // by id: the merge to undo
};

// ---- writing

const SuffixedText& check_writable(const BpeDefinition& d) {
  const auto check = [](bool condition, std::string_view reason) {
    require(condition, ErrorCode::kUnsupported, "codes of subword-nmt cannot represent this tokenizer: {}", reason);
  };
  const auto* text = std::get_if<SuffixedText>(&d.text);
  check(text != nullptr && text->suffix == kSuffix,
        "its words do not end with </w>, and a space in front of a word is not the same");
  check(!text->between_white_space, "it does not split words at spaces");
  check(text->normalizer.empty(), "it normalises text; normalise before encoding");
  check(d.unknown.has_value() && !d.fuse_unknown && !text->byte_fallback,
        "it writes characters outside the vocabulary otherwise");
  check(!d.ignore_merges, "it takes whole words from the vocabulary without merges");
  const auto exists = [&](std::size_t rank) { return rank < d.merges.size(); };
  check(!text->codes || std::ranges::all_of(text->codes->lines, exists),
        "the lines of its codes name a merge that does not exist");
  check(!text->codes || !text->codes->expansions,
        "it has a restricted vocabulary; keep codes and vocabulary as two files");
  check(text->codes || !rounds_matter(d.merges, d.pieces.size()),
        "its merges stand in an order that subword-nmt applies otherwise");
  check(std::ranges::all_of(d.added_tokens, &AddedToken::special), "it has user-defined symbols");
  for (const Merge& merge : d.merges)
    check((d.pieces[index(merge.left)] + d.pieces[index(merge.right)]).find_first_of(" \r\n") == std::string::npos,
          "a merge holds a space or a line end");
  return *text;
}

/// Decoding removes the separator wherever a space follows it. It would also remove it from the ends of words if it
/// consists of characters that words contain.
void check_separator(const std::string& separator) {
  bool can_end_words = true;
  bool fits = !separator.empty();
  for (std::size_t i = 0; i < separator.size();) {
    const core::DecodedCharacter character = core::decode_utf8(separator, i);
    const auto code_point = static_cast<UChar32>(character.code_point);
    fits = fits && character.valid && !core::is_white_space(character.code_point);
    can_end_words = can_end_words && (U_GET_GC_MASK(code_point) & (U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK)) != 0;
    i += character.length;
  }
  require(fits && !can_end_words, ErrorCode::kInvalidArgument,
          "the separator {} cannot be told from text: it must be UTF-8 without white space, and not of letters and "
          "digits alone; give the one that subword-nmt was told, or none for its usual '@@'",
          Quoted{separator});
}

}  // namespace

BpeDefinition read_codes(std::string_view text, FileKind kind, const std::string& name, const ReadOptions& options) {
  check_separator(options.separator);
  const CodesFile file = read_lines(text, kind, name);
  BpeDefinition definition = DefinitionBuilder(file).finish();
  Codes codes = {.separator = options.separator, .separate_suffix = file.separate_suffix};
  if (file.lines.size() > file.rules.size()) codes.lines = file.lines;
  if (!options.vocabulary.empty()) {
    require(!file.separate_suffix, ErrorCode::kUnsupported,
            "{}: a vocabulary with codes of version 0.1 is not supported: subword-nmt writes empty pieces for them",
            name);
    const auto vocabulary = read_vocabulary(options);
    if (!vocabulary.empty())  // subword-nmt treats an empty vocabulary as none
      codes.expansions = PieceSplitter(definition, file, options.separator, vocabulary).split_all(name);
  }
  definition.text = SuffixedText{.suffix = std::string(kSuffix), .codes = std::move(codes)};
  return definition;
}

std::string write_codes(const BpeDefinition& definition) {
  const std::optional<Codes>& codes = check_writable(definition).codes;
  std::string text(kVersionMark);
  text += codes && codes->separate_suffix ? " 0.1\n" : " 0.2\n";
  const auto write = [&](const Merge& merge) {
    text += fmt::format("{} {}\n", definition.pieces[index(merge.left)], definition.pieces[index(merge.right)]);
  };
  if (!codes || codes->lines.empty())
    std::ranges::for_each(definition.merges, write);
  else
    for (const std::size_t rank : codes->lines) write(definition.merges[rank]);
  return text;
}

}  // namespace dragoman::tokenizer
