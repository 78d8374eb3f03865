#include "formats/youtokentome.h"

#include "text_fields.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;
using Numbers = std::vector<std::int64_t>;

/// The special pieces, in the order of their ids in the last line of the file.
constexpr const char* kSpecialsInOrder[] = {"<UNK>", "<PAD>", "<BOS>", "<EOS>"};
constexpr std::int64_t kMaxLines = std::int64_t{1} << 30;
/// The characters that the program treats as spaces. All of them end a word.
constexpr const char* kSpaces[] = {"\t", "\n", "\v", "\f", "\r", kWordMark};

/// Returns the numbers of a line, or nullopt if the line contains anything else.
std::optional<Numbers> parse_numbers(std::string_view line) {
  Numbers numbers;
  for (const std::string_view field : split_at(strip(line, "\r "), ' ')) {
    const auto number = parse_integer(field);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

class ModelReader {
 public:
  ModelReader(std::string_view text, const std::string& name) : name_(name) {
    while (text.ends_with('\n')) text.remove_suffix(1);
    lines_ = split_at(text, '\n');
  }

  BpeDefinition read() {
    const Numbers counts = next(2, "the number of characters and the number of merges");
    const std::int64_t characters = counts[0];
    const std::int64_t merges = counts[1];
    check(characters > 0 && merges >= 0 && characters < kMaxLines && merges < kMaxLines,
          fmt::format("there cannot be {} characters and {} merges", characters, merges));
    check(characters + merges + 2 == static_cast<std::int64_t>(lines_.size()),
          fmt::format("{} characters and {} merges need {} lines, but the file has {}; it is damaged", characters,
                      merges, characters + merges + 2, lines_.size()));
    read_specials(characters + merges);
    for (std::int64_t i = 0; i < characters; ++i) read_character();
    for (std::int64_t i = 0; i < merges; ++i) read_merge();
    describe_text();
    return std::move(definition_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    core::fail(ErrorCode::kBadInput, "{}: line {}: {}", name_, at_, reason);
  }
  void check(bool condition, const std::string& reason) const {
    if (!condition) fail(reason);
  }

  Numbers next(std::size_t count, std::string_view what) {
    const auto numbers = parse_numbers(lines_[at_++]);
    if (!numbers || numbers->size() != count) fail(fmt::format("expected {}", what));
    return *numbers;
  }

  /// Reads the last line. It comes first, since the number of pieces depends on it.
  void read_specials(std::int64_t others) {
    const std::size_t back = std::exchange(at_, lines_.size() - 1);
    const Numbers ids = next(4, "the ids of <UNK>, <PAD>, <BOS> and <EOS>");
    const auto specials = std::ranges::count_if(ids, [](std::int64_t id) { return id != -1; });
    definition_.pieces.resize(static_cast<std::size_t>(others + specials));
    check(ids[0] >= 0, "a model without <UNK> cannot encode unknown characters");
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == -1) continue;
      const std::int32_t id = set_piece(ids[i], kSpecialsInOrder[i]);
      definition_.added_tokens.push_back({.id = id, .special = true});
      if (i == 0) definition_.unknown = id;
    }
    at_ = back;
  }

  void read_character() {
    const Numbers line = next(2, "a code point and its id");
    check(line[0] >= 0 && line[0] < 0x110000 && (line[0] < 0xD800 || line[0] > 0xDFFF),
          fmt::format("{} is not the code point of a character", line[0]));
    std::string character;
    core::append_utf8(character, static_cast<char32_t>(line[0]));
    set_piece(line[1], character);
  }

  void read_merge() {
    const Numbers line = next(3, "the ids of two pieces and of what they become");
    const std::int32_t left = known(line[0]);
    const std::int32_t right = known(line[1]);
    const auto text = [&](std::int32_t id) -> const std::string& {
      return definition_.pieces[static_cast<std::size_t>(id)];
    };
    definition_.merges.push_back({left, right, set_piece(line[2], text(left) + text(right))});
  }

  /// Returns a piece that a previous line has produced.
  std::int32_t known(std::int64_t id) const {
    check(in_range(id) && !definition_.pieces[static_cast<std::size_t>(id)].empty(),
          fmt::format("no line above makes the piece {}", id));
    const bool special = std::ranges::any_of(definition_.added_tokens, [&](const auto& t) { return t.id == id; });
    check(!special, fmt::format("the special piece {} cannot merge", id));
    return static_cast<std::int32_t>(id);
  }

  std::int32_t set_piece(std::int64_t id, const std::string& text) {
    check(in_range(id), fmt::format("the id {} is not one of the {} pieces", id, definition_.pieces.size()));
    total_ += text.size();
    check(total_ < kMaxText, "the pieces are too long together; the file is damaged");
    std::string& place = definition_.pieces[static_cast<std::size_t>(id)];
    check(place.empty(), fmt::format("the id {} is that of {} already", id, Quoted{place}));
    const auto [known, is_new] = ids_.emplace(text, id);
    check(is_new, fmt::format("{} has the id {} already; two pieces with one text are not supported", Quoted{text},
                              known->second));
    place = text;
    return static_cast<std::int32_t>(id);
  }

  bool in_range(std::int64_t id) const { return id >= 0 && id < static_cast<std::int64_t>(definition_.pieces.size()); }

  void describe_text() {
    check(ids_.contains(kWordMark), "the character U+2581, which stands in front of words, is missing");
    // The program uses the id 0 for "merged away", and drops a piece with this id at the start of a word.
    check(definition_.added_tokens.end() !=
              std::ranges::find_if(definition_.added_tokens, [](const auto& t) { return t.id == 0; }),
          "the id 0 is not that of a special piece, so the program that wrote this drops it in front of words");
    definition_.fuse_unknown = true;
    definition_.text = youtokentome_text();
  }

  /// Limits the memory of merges that double a piece again and again.
  static constexpr std::size_t kMaxText = std::size_t{1} << 28;

  std::vector<std::string_view> lines_;
  std::string name_;
  std::size_t at_ = 0;  // the current line; counted from 1 after it was taken
  std::size_t total_ = 0;
  BpeDefinition definition_;
  core::TextMap<std::int64_t> ids_;
};

/// Writes a definition; throws Error{kUnsupported} with the reason if the format cannot represent it.
class ModelWriter {
 public:
  explicit ModelWriter(const BpeDefinition& definition) : definition_(definition) {}

  std::string write() {
    check_text();
    read_specials();
    check_pieces();
    const std::size_t characters = definition_.pieces.size() - specials_ - definition_.merges.size();
    std::string text = fmt::format("{} {}\n", characters, definition_.merges.size());
    for (std::size_t id = 0; id < definition_.pieces.size(); ++id)
      if (origins_[id] == Origin::kNone) text += fmt::format("{} {}\n", code_point(definition_.pieces[id]), id);
    for (const Merge& merge : definition_.merges)
      text += fmt::format("{} {} {}\n", merge.left, merge.right, merge.result);
    return text + fmt::format("{}\n", fmt::join(ids_, " "));
  }

 private:
  enum class Origin { kNone, kSpecial, kMerge };

  static void check(bool condition, std::string_view reason) {
    require(condition, ErrorCode::kUnsupported, "a model of YouTokenToMe cannot represent this tokenizer: {}", reason);
  }

  void check_text() const {
    const auto* text = std::get_if<CharacterText>(&definition_.text);
    check(text == nullptr || !text->byte_fallback, "it writes characters outside the vocabulary as bytes");
    check(text != nullptr && *text == youtokentome_text(),
          "it treats spaces or characters in another way; learn it for this kind of file");
    check(definition_.fuse_unknown, "a run of unknown characters is several pieces");
    check(!definition_.ignore_merges && definition_.unused.empty() && definition_.post_processor.empty(),
          "it chooses pieces by more than merges");
  }

  void read_specials() {
    origins_.resize(definition_.pieces.size(), Origin::kNone);
    for (const AddedToken& token : definition_.added_tokens) {
      const auto id = static_cast<std::size_t>(token.id);
      const auto* const name = std::ranges::find(kSpecialsInOrder, definition_.pieces[id]);
      check(token.special && name != std::end(kSpecialsInOrder),
            fmt::format("it has the special piece {}; there are {}", Quoted{definition_.pieces[id]},
                        fmt::join(kSpecialsInOrder, ", ")));
      ids_[static_cast<std::size_t>(name - std::begin(kSpecialsInOrder))] = token.id;
      origins_[id] = Origin::kSpecial;
      ++specials_;
    }
    check(ids_[0] >= 0 && definition_.unknown == ids_[0], "it has no piece <UNK> for unknown characters");
    check(origins_[0] == Origin::kSpecial, "the piece with the id 0 is not special");
  }

  void check_pieces() {
    for (const Merge& merge : definition_.merges) {
      for (const std::int32_t part : {merge.left, merge.right})
        if (origins_[static_cast<std::size_t>(part)] != Origin::kMerge)
          code_point(definition_.pieces[static_cast<std::size_t>(part)]);
      Origin& origin = origins_[static_cast<std::size_t>(merge.result)];
      check(origin == Origin::kNone, fmt::format("two merges make the piece {}",
                                                 Quoted{definition_.pieces[static_cast<std::size_t>(merge.result)]}));
      origin = Origin::kMerge;
    }
    check(std::ranges::find(definition_.pieces, kWordMark) != definition_.pieces.end(),
          "it has no piece U+2581, the mark at the beginning of words");
  }

  static std::uint32_t code_point(const std::string& piece) {
    const core::DecodedCharacter character = core::decode_utf8(piece, 0);
    check(character.length == piece.size(),
          fmt::format("the piece {} is neither a character nor an earlier merge", Quoted{piece}));
    return static_cast<std::uint32_t>(character.code_point);
  }

  const BpeDefinition& definition_;
  std::array<std::int64_t, std::size(kSpecialsInOrder)> ids_{-1, -1, -1, -1};
  std::vector<Origin> origins_;  // by id
  std::size_t specials_ = 0;
};

}  // namespace

NormalizerSteps youtokentome_spaces() {
  using Kind = NormalizerStep::Kind;
  NormalizerSteps steps;
  for (const char* space : kSpaces) steps.push_back({Kind::kReplace, space, " "});
  for (const Kind kind : {Kind::kTrimStart, Kind::kTrimEnd, Kind::kSqueeze}) steps.push_back({kind, " ", {}});
  return steps;
}

CharacterText youtokentome_text() {
  NormalizerSteps steps = youtokentome_spaces();
  steps.push_back({NormalizerStep::Kind::kPrepend, {}, kWordMark});
  steps.push_back({NormalizerStep::Kind::kReplace, " ", kWordMark});
  return {.normalizer = std::move(steps),
          .pre_tokenizer = SplitBefore{.mark = kWordMark},
          .decoder = DecoderSteps{.replacements = {{kWordMark, " "}}, .strip = Strip{.character = " "}}};
}

bool looks_like_youtokentome(std::string_view content, const std::vector<std::string_view>& lines) {
  if (lines.size() < 3) return false;
  const auto counts = parse_numbers(lines[0]);
  if (!counts || counts->size() != 2) return false;
  const auto [characters, merges] = std::pair((*counts)[0], (*counts)[1]);
  if (characters <= 0 || characters >= kMaxLines || merges < 0 || merges >= kMaxLines) return false;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto numbers = parse_numbers(lines[i]);
    const auto line = static_cast<std::int64_t>(i);
    const std::size_t expected = line <= characters ? 2 : line <= characters + merges ? 3 : 4;
    if (!numbers || numbers->size() != expected) return false;
  }
  return std::ranges::count(content, '\n') <= characters + merges + 2;
}

BpeDefinition read_youtokentome(std::string_view text, const std::string& name) {
  return ModelReader(text, name).read();
}

std::string write_youtokentome(const BpeDefinition& definition) {
  return ModelWriter(definition).write();
}

}  // namespace dragoman::tokenizer
