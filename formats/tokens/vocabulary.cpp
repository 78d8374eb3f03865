#include "tokens/vocabulary.h"

#include <algorithm>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/yaml.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Quoted;

constexpr std::uint64_t kLargestFile = std::uint64_t{64} << 20;

/// Returns the lines of a file. If every line ends in CR, the CR is removed.
std::vector<std::string> lines_of(const std::filesystem::path& path) {
  const std::string text = core::read_regular_file(path, kLargestFile);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (std::ranges::all_of(lines, [](const std::string& line) { return line.ends_with('\r'); }))
    for (std::string& line : lines) line.pop_back();
  return lines;
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> pieces, std::string name)
    : name_(std::move(name)), listed_(pieces.size()) {
  core::require(!pieces.empty() && pieces.size() < std::size_t{1} << 30, ErrorCode::kBadInput,
                "{}: has {} pieces; take the file as the toolkit wrote it", name_, pieces.size());
  for (std::string& piece : pieces) place(std::move(piece));
}

void Vocabulary::place(std::string piece) {
  const auto id = static_cast<std::int32_t>(pieces_.size());
  core::require(!piece.empty(), ErrorCode::kBadInput, "{}: piece {} is empty; take the file as the toolkit wrote it",
                name_, id);
  core::require(core::find_invalid_utf8(piece) == std::string::npos, ErrorCode::kBadInput,
                "{}: piece {} is not valid UTF-8; take the file as the toolkit wrote it", name_, id);
  const auto [known, is_new] = ids_.emplace(piece, id);
  core::require(is_new, ErrorCode::kBadInput, "{}: {} is piece {} and {}; take the file as the toolkit wrote it", name_,
                Quoted{piece}, known->second, id);
  pieces_.push_back(std::move(piece));
}

Vocabulary Vocabulary::read_lines(const std::filesystem::path& path) {
  return {lines_of(path), path.string()};
}

Vocabulary Vocabulary::read_fairseq(const std::filesystem::path& path) {
  constexpr std::string_view kOverwrite = " #fairseq:overwrite";
  std::vector<std::string> pieces{"<s>", "<pad>", "</s>", "<unk>"};
  const std::size_t special = pieces.size();
  core::TextMap<std::size_t> places;
  for (std::size_t i = 0; i < special; ++i) places.emplace(pieces[i], i);
  std::size_t number = 0;
  for (std::string& line : lines_of(path)) {
    ++number;
    const bool overwrites = line.ends_with(kOverwrite);
    if (overwrites) line.resize(line.size() - kOverwrite.size());
    const std::size_t space = line.rfind(' ');
    const bool counted = space != std::string::npos && space > 0 && space + 1 < line.size() &&
                         line.find_first_not_of("0123456789", space + 1) == std::string::npos;
    if (!counted)
      core::fail(ErrorCode::kBadInput, "{}:{}: expected a piece and its count, as fairseq-preprocess writes them",
                 path.string(), number);
    line.resize(space);
    const auto known = places.find(line);
    if (known != places.end()) {
      if (!overwrites || known->second < special)
        core::fail(ErrorCode::kBadInput, "{}:{}: {} has the id {} already", path.string(), number, core::quote(line),
                   known->second);
      pieces[known->second] = fmt::format("<overwritten{}>", known->second);
    }
    places[line] = pieces.size();
    pieces.push_back(std::move(line));
  }
  return {std::move(pieces), path.string()};
}

Vocabulary Vocabulary::read_json_list(const std::filesystem::path& path) {
  const core::Json list =
      core::parse_json(core::read_regular_file(path, kLargestFile), path.string(), core::EqualKeys::kLastCounts);
  core::require(list.is_array(), ErrorCode::kBadInput, "{}: expected a list of pieces, as in [\"<unk>\", \"a\"]",
                path.string());
  std::vector<std::string> pieces;
  for (const core::Json& piece : list) {
    core::require(piece.is_string(), ErrorCode::kBadInput, "{}: piece {} is no text", path.string(), pieces.size());
    pieces.push_back(piece.get<std::string>());
  }
  return {std::move(pieces), path.string()};
}

Vocabulary Vocabulary::read_marian(const std::filesystem::path& path) {
  const std::string name = path.string();
  const core::Json list = core::parse_yaml(core::read_regular_file(path, kLargestFile), name);
  core::require(list.is_object(), ErrorCode::kBadInput, "{}: expected pieces and their ids, as in \"<unk>\": 1", name);
  std::vector<std::string> pieces(list.size());
  for (const auto& [piece, id] : list.items()) {
    core::require(id.is_number_unsigned() && id.get<std::uint64_t>() < pieces.size(), ErrorCode::kBadInput,
                  "{}: {} has the id {}, which is none from 0 to {}; take the file as Marian wrote it", name,
                  Quoted{piece}, core::one_line(id), pieces.size() - 1);
    std::string& place = pieces[id.get<std::size_t>()];
    core::require(place.empty(), ErrorCode::kBadInput, "{}: {} and {} share an id; take the file as Marian wrote it",
                  name, Quoted{place}, Quoted{piece});
    place = piece;
  }
  return {std::move(pieces), name};
}

std::optional<std::int32_t> Vocabulary::find(std::string_view piece) const {
  const auto found = ids_.find(piece);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::int32_t Vocabulary::id(std::string_view piece, std::string_view what) const {
  const auto found = find(piece);
  core::require(found.has_value(), ErrorCode::kBadInput, "{}: has no piece {}, the model's {}", name_, Quoted{piece},
                what);
  return *found;
}

std::int32_t Vocabulary::add(const std::string& piece) {
  std::string name = piece;
  for (int number = 2; ids_.contains(name); ++number) name = fmt::format("{}{}", piece, number);
  place(std::move(name));
  return size() - 1;
}

void Vocabulary::swap(std::int32_t one, std::int32_t other) {
  std::string& first = pieces_.at(static_cast<std::size_t>(one));
  std::string& second = pieces_.at(static_cast<std::size_t>(other));
  std::swap(ids_.at(first), ids_.at(second));
  std::swap(first, second);
}

void Vocabulary::fill_up_to(std::int64_t rows, const std::string& where) {
  // The message uses the numbers that a reader of the file sees.
  const auto counted = [&] {
    std::string text = fmt::format("{}: has {} pieces", name_, listed_);
    for (std::size_t id = listed_; id < pieces_.size(); ++id) text += fmt::format(", without {}", Quoted{pieces_[id]});
    return text;
  };
  if (size() > rows)
    core::fail(ErrorCode::kBadInput, "{}, but the model's table {} has {} rows{}", counted(), where, rows,
               pieces_.size() > listed_ ? ", and each missing piece needs one" : "");
  // Tables are padded to a multiple of 8 or of a larger power of two, or have a few additional rows. In any other case,
  // the list is truncated or belongs to another model, and translations would be garbage.
  constexpr std::int64_t kMultiple = 8;
  constexpr std::int64_t kMaxPadding = 512;
  const std::int64_t padding = rows - size();
  const std::int64_t share = rows % kMultiple == 0 ? 4 : 20;
  if (padding >= kMaxPadding || padding * share > rows)
    core::fail(ErrorCode::kBadInput,
               "{}, but the model's table {} has {} rows; was it cut, or is it the vocabulary of another model?",
               counted(), where, rows);
  while (size() < rows) add(fmt::format("<unused{}>", size()));
}

}  // namespace dragoman::imports
