#include "base/base64.h"
#include "dragoman/tokenizer/tokenizer_files.h"
#include "formats/youtokentome.h"
#include "text_fields.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/lfs_pointer.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;

/// The number of lines by which a kind is recognised.
constexpr std::size_t kLooks = 16;

std::vector<std::string_view> first_lines(std::string_view content) {
  std::vector<std::string_view> lines;
  while (!content.empty() && lines.size() < kLooks) {
    const std::size_t end = content.find('\n');
    lines.push_back(strip(content.substr(0, end), "\r "));
    content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
  }
  return lines;
}

/// Returns whether every line has `count` fields and, if `counted`, whether the last one is a number.
bool has_fields(const std::vector<std::string_view>& lines, std::size_t count, bool counted) {
  return std::ranges::all_of(lines, [&](std::string_view line) {
    const auto fields = split_at(line, ' ');
    return fields.size() == count && std::ranges::none_of(fields, &std::string_view::empty) &&
           (!counted || parse_integer(fields.back()));
  });
}

/// Returns whether a message begins with a piece: a field of bytes whose first field is the piece's text.
bool starts_with_a_piece(std::string_view content) {
  return content.size() > 3 && content[0] == '\n' && content[2] == '\n' && content[1] > 0;
}

/// Returns whether the object starts with a text and a number, {"piece": 0, .... A tokenizer.json has "version": "1.0".
bool is_plain_vocabulary(std::string_view object) {
  std::size_t i = object.find_first_not_of(" \t\r\n", 1);
  if (i == std::string_view::npos || object[i] != '"') return false;
  for (++i; i < object.size() && object[i] != '"'; ++i)
    if (object[i] == '\\') ++i;
  i = object.find_first_not_of(" \t\r\n:", std::min(i + 1, object.size()));
  return i != std::string_view::npos && object[i] >= '0' && object[i] <= '9';
}

/// Returns whether most lines are a token in base64 and its number. The reader reports bad lines.
bool are_ranks(const std::vector<std::string_view>& lines) {
  std::size_t good = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto fields = split_at(lines[i], ' ');
    if (fields.size() == 2 && parse_integer(fields[1]) == static_cast<std::int64_t>(i) && from_base64(fields[0]))
      ++good;
  }
  return good > 0 && good * 4 >= lines.size() * 3;
}

}  // namespace

FileKind recognise(const std::filesystem::path& path, std::string_view content) {
  core::require_no_lfs_pointer(content, path.string());
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && content[first] == '{')
    return is_plain_vocabulary(content.substr(first)) ? FileKind::kGpt2 : FileKind::kTokenizerJson;
  if (starts_with_a_piece(content)) return FileKind::kSentencePiece;
  const auto lines = first_lines(content);
  if (content.starts_with("#version:"))
    return path.filename().string().ends_with("merges.txt") && std::filesystem::exists(gpt2_companion(path))
               ? FileKind::kGpt2
               : FileKind::kSubwordNmt;
  if (looks_like_youtokentome(content, lines)) return FileKind::kYouTokenToMe;
  if (are_ranks(lines)) return FileKind::kTiktoken;
  if (!lines.empty() && has_fields(lines, 3, true)) return FileKind::kFastBpe;
  if (!lines.empty() && has_fields(lines, 2, false)) return FileKind::kSubwordNmt;
  core::fail(ErrorCode::kBadInput, "{}: not a tokenizer file of a known kind ({}); name the kind if it is one",
             path.string(), fmt::join(file_kind_names(), ", "));
}

}  // namespace dragoman::tokenizer
