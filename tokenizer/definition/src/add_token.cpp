#include "definition/add_token.h"

#include "definition/escapes.h"
#include "dragoman/tokenizer/byte_pieces.h"

#include <string_view>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

void check_added_token(const std::string& token, std::string_view kind, bool may_hold_space, bool may_hold_mark) {
  require(!token.empty(), ErrorCode::kInvalidArgument, "a {} is empty", kind);
  require(core::find_invalid_utf8(token) == std::string::npos, ErrorCode::kInvalidArgument, "a {} is not valid UTF-8",
          kind);
  require(token.find_first_of("\n\r") == std::string::npos &&
              (may_hold_mark || token.find(kWordMark) == std::string::npos) &&
              token.find(kEscapeCharacter) == std::string::npos,
          ErrorCode::kInvalidArgument, "the {} '{}' holds a line end, {} or {}, which pieces cannot tell apart", kind,
          token, kWordMark, kEscapeCharacter);
  require(may_hold_space || token.find(' ') == std::string::npos, ErrorCode::kInvalidArgument,
          "the {} '{}' holds a space", kind, token);
  require(token.find_first_not_of(' ') != std::string::npos, ErrorCode::kInvalidArgument,
          "a {} consists of spaces only", kind);
}

}  // namespace

std::string with_spaces_as(std::string_view space, const std::string& token) {
  std::string text;
  for (const char c : token) text.append(c == ' ' ? space : std::string_view(&c, 1));
  return text;
}

void add_tokens(BpeDefinition& definition, std::span<const std::string> tokens, bool special, std::string_view space) {
  const std::string_view kind = special ? "special token" : "user-defined symbol";
  core::TextViewSet known(definition.pieces.begin(), definition.pieces.end());
  std::vector<std::string> pieces;
  for (const std::string& token : tokens) pieces.push_back(with_spaces_as(space, token));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = pieces[i];
    check_added_token(tokens[i], kind, !special, !special && space == kWordMark);
    require(!byte_of_piece(token), ErrorCode::kInvalidArgument, "the {} '{}' has the name of a byte piece", kind,
            token);
    require(known.insert(token).second, ErrorCode::kInvalidArgument, "the {} '{}' is given twice", kind, token);
  }
  for (const std::string& token : pieces) {
    definition.added_tokens.push_back({static_cast<std::int32_t>(definition.pieces.size()), special});
    definition.pieces.push_back(token);
  }
}

}  // namespace dragoman::tokenizer
