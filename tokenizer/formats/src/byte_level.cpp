#include "formats/byte_level.h"

#include "base/base64.h"
#include "base/index.h"
#include "merging/ranked_pieces.h"
#include "text_fields.h"

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;
using Json = nlohmann::json;

constexpr std::string_view kVersionLine = "#version:";
constexpr std::size_t kCl100kSize = 100256;

Json parse_vocabulary(std::string_view text, const std::string& name) {
  const auto flat = [&](int depth, Json::parse_event_t, const Json&) {
    require(depth <= 1, ErrorCode::kBadInput, "{}: expected pieces with their ids and nothing inside", name);
    return true;
  };
  try {
    Json vocabulary = Json::parse(text, flat);
    require(vocabulary.is_object(), ErrorCode::kBadInput, "{}: expected an object with pieces and ids", name);
    return vocabulary;
  } catch (const Json::exception& error) {
    core::parse_json(text, name, core::EqualKeys::kLastCounts);  // throws with the position
    core::fail(ErrorCode::kBadInput, "{}: {}", name, core::syntax_problem(error));
  }
}

std::vector<std::string> read_pieces(std::string_view text, const std::string& name) {
  const Json vocabulary = parse_vocabulary(text, name);
  std::vector<std::string> pieces(vocabulary.size());
  for (const auto& [piece, id] : vocabulary.items()) {
    require(!piece.empty() && id.is_number_unsigned() && id.get<std::uint64_t>() < pieces.size(), ErrorCode::kBadInput,
            "{}: the piece {} has the id {}, but there are {} pieces; ids must run from 0 without a gap", name,
            Quoted{piece}, id.dump(), pieces.size());
    std::string& place = pieces[id.get<std::size_t>()];
    require(place.empty(), ErrorCode::kBadInput, "{}: the pieces {} and {} share the id {}", name, Quoted{place},
            Quoted{piece}, id.dump());
    place = piece;
  }
  return pieces;
}

class MergeReader {
 public:
  MergeReader(const std::vector<std::string>& pieces, const std::string& name) : name_(name) {
    for (std::size_t i = 0; i < pieces.size(); ++i) ids_.emplace(pieces[i], static_cast<std::int32_t>(i));
  }

  std::vector<Merge> read(std::string_view text) {
    std::vector<Merge> merges;
    while (text.ends_with('\n')) text.remove_suffix(1);
    const auto lines = split_at(text, '\n');
    for (std::size_t i = text.starts_with(kVersionLine) || text.empty() ? 1 : 0; i < lines.size(); ++i) {
      const std::string where = fmt::format("{}: merges line {}", name_, i + 1);
      const auto fields = split_at(strip(lines[i], "\r"), ' ');
      require(fields.size() == 2, ErrorCode::kBadInput, "{}: expected two pieces with one space between", where);
      const std::string left(fields[0]);
      const std::string right(fields[1]);
      merges.push_back({id(left, where), id(right, where), id(left + right, where)});
    }
    return merges;
  }

 private:
  std::int32_t id(const std::string& piece, const std::string& where) const {
    const auto found = ids_.find(piece);
    require(found != ids_.end(), ErrorCode::kBadInput, "{}: {} is not in the vocabulary", where, Quoted{piece});
    return found->second;
  }

  const std::string& name_;
  core::TextMap<std::int32_t> ids_;
};

std::vector<bool> made_by_merges(const BpeDefinition& definition) {
  std::vector<bool> made(definition.pieces.size(), false);
  for (const Merge& merge : definition.merges) made[index(merge.result)] = true;
  return made;
}

/// All pieces that text never becomes are control tokens, whatever else the vocabulary contains.
void add_special_tokens(BpeDefinition& definition) {
  const std::vector<bool> made = made_by_merges(definition);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const bool is_byte = core::decode_utf8(definition.pieces[i], 0).length == definition.pieces[i].size();
    if (!made[i] && !is_byte) definition.added_tokens.push_back({.id = static_cast<std::int32_t>(i), .special = true});
  }
}

const ByteLevelText& check_byte_level(const BpeDefinition& d, std::string_view kind) {
  const auto check = [&](bool condition, std::string_view reason) {
    require(condition, ErrorCode::kUnsupported, "{} cannot represent this tokenizer: {}", kind, reason);
  };
  const auto* text = std::get_if<ByteLevelText>(&d.text);
  check(text != nullptr, "its pieces are not spelled in the byte alphabet");
  check(text->normalizer.empty(), "it normalises text");
  check(!text->add_prefix_space, "it puts a space in front of the text");
  check(!d.unknown, "it has an unknown token");
  check(d.unused.empty(), "it has unused pieces");
  check(std::ranges::all_of(d.added_tokens, &AddedToken::special), "it has user-defined symbols");
  return *text;
}

struct Rank {
  std::string token;
  std::int64_t rank;
};

Rank read_rank(std::string_view line, const std::string& where) {
  const auto fields = split_at(strip(line, "\r"), ' ');
  require(fields.size() == 2, ErrorCode::kBadInput, "{}: expected a token in base64 and its rank", where);
  const auto token = from_base64(fields[0]);
  require(token && !token->empty(), ErrorCode::kBadInput, "{}: {} is not base64", where, Quoted{fields[0]});
  const auto rank = parse_integer(fields[1]);
  require(rank && *rank >= 0, ErrorCode::kBadInput, "{}: {} is not a rank", where, Quoted{fields[1]});
  return {*token, *rank};
}

std::vector<std::string> read_tokens(std::string_view text, const std::string& name) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const auto lines = split_at(text, '\n');
  std::vector<std::string> tokens(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string where = fmt::format("{}: line {}", name, i + 1);
    Rank entry = read_rank(lines[i], where);
    require(
        static_cast<std::size_t>(entry.rank) < tokens.size() && tokens[static_cast<std::size_t>(entry.rank)].empty(),
        ErrorCode::kUnsupported, "{}: the rank {} leaves a gap or occurs twice; ranks must run from 0 to {}", where,
        entry.rank, tokens.size() - 1);
    tokens[static_cast<std::size_t>(entry.rank)] = std::move(entry.token);
  }
  return tokens;
}

RankedPieces rank_by_id(std::vector<std::string> tokens, const std::string& name) {
  std::array<std::int32_t, 256> bytes{};
  bytes.fill(-1);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i].size() == 1) bytes[static_cast<unsigned char>(tokens[i][0])] = static_cast<std::int32_t>(i);
  const auto missing = std::ranges::find(bytes, -1);
  require(missing == bytes.end(), ErrorCode::kBadInput, "{}: the byte 0x{:02X} has no rank", name,
          missing - bytes.begin());
  RankedPieces ranked;
  ranked.ranks.resize(tokens.size());
  std::iota(ranked.ranks.begin(), ranked.ranks.end(), 0);
  for (const std::string& token : tokens) {
    auto& parts = ranked.parts.emplace_back();
    for (const char byte : token) parts.push_back(bytes[static_cast<unsigned char>(byte)]);
  }
  ranked.texts = std::move(tokens);
  return ranked;
}

}  // namespace

BpeDefinition read_gpt2(std::string_view vocabulary_json, std::string_view merges_text, const std::string& name) {
  BpeDefinition definition;
  definition.text = ByteLevelText{.pattern = WordPattern::kGpt2};
  definition.pieces = read_pieces(vocabulary_json, name);
  for (const std::string& piece : definition.pieces)
    require(!piece.ends_with("</w>") || piece == "</w>", ErrorCode::kUnsupported,
            "{}: pieces that end with </w> in a byte-level vocabulary are not supported", name);
  definition.merges = MergeReader(definition.pieces, name).read(merges_text);
  add_special_tokens(definition);
  return definition;
}

Gpt2Files write_gpt2(const BpeDefinition& definition) {
  const ByteLevelText& words = check_byte_level(definition, "GPT-2's vocab.json and merges.txt");
  require(words.pattern == WordPattern::kGpt2, ErrorCode::kUnsupported,
          "GPT-2's files cannot represent this tokenizer: it cuts words by another pattern");
  require(!definition.ignore_merges, ErrorCode::kUnsupported,
          "GPT-2's files cannot represent this tokenizer: it takes whole words from the vocabulary without merges");
  Gpt2Files files{"{\n", "#version: 0.2\n"};
  for (std::size_t i = 0; i < definition.pieces.size(); ++i)
    files.vocabulary_json +=
        fmt::format("{}: {}{}\n", Json(definition.pieces[i]).dump(), i, i + 1 < definition.pieces.size() ? "," : "");
  files.vocabulary_json += "}\n";
  for (const Merge& merge : definition.merges)
    files.merges_text +=
        fmt::format("{} {}\n", definition.pieces[index(merge.left)], definition.pieces[index(merge.right)]);
  return files;
}

BpeDefinition read_tiktoken(std::string_view text, const std::string& name, const ReadOptions& options) {
  RankedPieces ranked = rank_by_id(read_tokens(text, name), name);
  const WordPattern usual = ranked.texts.size() == kCl100kSize ? WordPattern::kCl100k : WordPattern::kGpt2;
  BpeDefinition definition;
  definition.text = ByteLevelText{.pattern = options.pattern.value_or(usual)};
  definition.ignore_merges = true;
  definition.merges = explicit_merges(ranked, name);
  for (const std::string& token : ranked.texts) definition.pieces.push_back(to_byte_alphabet(token));
  return definition;
}

std::string write_tiktoken(const BpeDefinition& definition) {
  constexpr const char* kKind = "rank files of tiktoken";
  check_byte_level(definition, kKind);
  std::size_t count = definition.pieces.size();
  std::vector<bool> special(count, false);
  for (const AddedToken& token : definition.added_tokens) special[index(token.id)] = true;
  while (count > 0 && special[count - 1]) --count;
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bytes = from_byte_alphabet(definition.pieces[i]);
    require(bytes && !special[i], ErrorCode::kUnsupported, "{} cannot represent this tokenizer: {} is not bytes", kKind,
            Quoted{definition.pieces[i]});
    text += fmt::format("{} {}\n", to_base64(*bytes), i);
  }
  const BpeDefinition again = read_tiktoken(text, kKind, {});
  require(again.merges == reachable_merges(definition), ErrorCode::kUnsupported,
          "{} cannot represent this tokenizer: its merges are not in the order of the ids of what they make", kKind);
  require(definition.ignore_merges || std::ranges::count(made_by_merges(again), true) + 256 == std::ssize(again.pieces),
          ErrorCode::kUnsupported,
          "{} cannot represent this tokenizer: it has pieces that merges do not make, which tiktoken takes as words",
          kKind);
  return text;
}

}  // namespace dragoman::tokenizer
