#include "formats/dictionary.h"

#include "text_fields.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/yaml.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;

constexpr const char* kUnknown = "<unk>";
constexpr std::string_view kSpecials[] = {"<s>", "<pad>", "</s>", kUnknown};

std::vector<std::string_view> lines_of(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text.empty() ? std::vector<std::string_view>() : split_at(text, '\n');
}

void add_special(Dictionary& dictionary, std::string_view piece) {
  dictionary.ids.emplace(piece, static_cast<std::int32_t>(dictionary.pieces.size()));
  dictionary.pieces.emplace_back(piece);
}

/// Throws unless the piece can be a token of text: it is not empty, it is UTF-8, and it contains no space.
void check_piece(std::string_view piece, const std::string& where) {
  require(!piece.empty() && piece.find_first_of(" \n") == std::string_view::npos, ErrorCode::kBadInput,
          "{}: {} cannot be a piece; pieces are not empty and hold no space. Remove the line, or take the file as the "
          "toolkit wrote it",
          where, Quoted{piece});
  require(core::find_invalid_utf8(piece) == std::string::npos, ErrorCode::kBadInput,
          "{}: not valid UTF-8; convert the file", where);
}

/// Stores the pieces by their ids, which must be consecutive from 0.
void place_pieces(Dictionary& dictionary, const std::string& name) {
  // Sorted, so that the same one of several errors is always reported.
  std::vector<std::pair<std::int32_t, std::string_view>> entries;
  for (const auto& [piece, id] : dictionary.ids) entries.emplace_back(id, piece);
  std::ranges::sort(entries);
  dictionary.pieces.resize(entries.size());
  for (const auto& [id, piece] : entries) {
    require(
        static_cast<std::size_t>(id) < entries.size(), ErrorCode::kBadInput,
        "{}: {} has the id {}, but there are {} pieces; ids must run from 0 without a gap: put back the pieces that "
        "are gone",
        name, Quoted{piece}, id, entries.size());
    std::string& place = dictionary.pieces[static_cast<std::size_t>(id)];
    require(place.empty(), ErrorCode::kBadInput, "{}: {} and {} share the id {}; give each piece an id of its own",
            name, Quoted{place}, Quoted{piece}, id);
    place = piece;
  }
}

constexpr std::string_view kHowToList =
    "write each piece, a colon, a space and its id on a line, as in 'the: 17', and put a piece with signs of YAML into "
    "quotes";

/// Marian writes and reads its vocabularies with yaml-cpp, so the same parser gives the same pieces. It takes 0.14 s
/// for 32,000 entries and 1.3 s for 250,000. A parser of single lines took 0.03 s and 0.26 s.
core::Json parse_listed_yaml(std::string_view text, const std::string& name) {
  try {
    return core::parse_yaml(text, name);
  } catch (const core::Error& error) {
    core::fail(error.code(), "{}; {}", error.what(), kHowToList);
  }
}

}  // namespace

Dictionary parse_fairseq_dictionary(std::string_view text, const std::string& name) {
  constexpr std::string_view kOverwrite = " #fairseq:overwrite";
  Dictionary dictionary;
  for (const std::string_view piece : kSpecials) add_special(dictionary, piece);
  const auto lines = lines_of(text);
  require(!lines.empty(), ErrorCode::kBadInput,
          "{}: the dictionary is empty; give the one that the model was trained with", name);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string where = fmt::format("{}: line {}", name, i + 1);
    std::string_view line = strip(lines[i], " \t\r");
    const bool overwrite = line.ends_with(kOverwrite);
    if (overwrite) line.remove_suffix(kOverwrite.size());
    const std::size_t space = std::min(line.rfind(' '), line.size());
    require(space < line.size() && parse_integer(line.substr(space + 1)), ErrorCode::kBadInput,
            "{}: expected a piece and its count with a space between, as in 'the 17'; name the file .yml, .yaml or "
            ".json if "
            "it is a vocabulary of Marian",
            where);
    const std::string piece(line.substr(0, space));
    check_piece(piece, where);
    const auto id = static_cast<std::int32_t>(dictionary.pieces.size());
    const auto [known, is_new] = dictionary.ids.emplace(piece, id);
    require(is_new || overwrite, ErrorCode::kBadInput,
            "{}: {} has the id {} already; end the line with{} if that is meant", where, Quoted{piece}, known->second,
            kOverwrite);
    // fairseq keeps the ids with which it adds <s> and </s>, and the id of unknown pieces.
    if (static_cast<std::size_t>(known->second) >= std::size(kSpecials)) known->second = id;
    dictionary.pieces.push_back(piece);
  }
  dictionary.special.assign(dictionary.pieces.size(), false);
  std::fill_n(dictionary.special.begin(), std::size(kSpecials), true);
  dictionary.unknown = dictionary.ids.at(kUnknown);
  return dictionary;
}

Dictionary parse_marian_dictionary(std::string_view text, const std::string& name) {
  // JSON may write one character as two \uXXXX, which YAML does not support.
  const bool json = strip(text, " \t\r\n").starts_with('{');
  const core::Json document =
      json ? core::parse_json(text, name, core::EqualKeys::kLastCounts) : parse_listed_yaml(text, name);
  require(document.is_object(), ErrorCode::kBadInput, "{}: holds no pieces with ids; {}", name, kHowToList);
  Dictionary dictionary;
  for (const auto& [piece, id] : document.items()) {
    const std::string where = fmt::format("{}: {}", name, Quoted{piece});
    check_piece(piece, where);
    const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() < std::uint64_t{1} << 30;
    if (!fits)
      core::fail(ErrorCode::kBadInput, "{}: expected an id from 0, not {}; {}", where, core::one_line(id), kHowToList);
    dictionary.ids.emplace(piece, id.get<std::int32_t>());
  }
  const auto unknown = dictionary.ids.find(kUnknown);
  require(unknown != dictionary.ids.end(), ErrorCode::kBadInput,
          "{}: {} is missing; add it with the next id, or give the vocabulary that the model was trained with", name,
          kUnknown);
  dictionary.unknown = unknown->second;
  place_pieces(dictionary, name);
  for (const std::string& piece : dictionary.pieces)
    dictionary.special.push_back(std::ranges::find(kSpecials, piece) != std::end(kSpecials));
  return dictionary;
}

}  // namespace dragoman::tokenizer
