#include "definition/add_token.h"

#include "definition/escapes.h"
#include "dragoman/tokenizer/byte_pieces.h"

#include <algorithm>
#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

void check_added_token(const std::string& token, std::string_view kind) {
  require(!token.empty(), ErrorCode::kInvalidArgument, "a {} is empty", kind);
  require(core::find_invalid_utf8(token) == std::string::npos, ErrorCode::kInvalidArgument, "a {} is not valid UTF-8",
          kind);
  require(token.find_first_of(" \n\r") == std::string::npos && token.find(kWordMark) == std::string::npos &&
              token.find(kEscapeCharacter) == std::string::npos,
          ErrorCode::kInvalidArgument,
          "the {} '{}' holds a space, a line end, {} or {}, which pieces cannot tell apart", kind, token, kWordMark,
          kEscapeCharacter);
}

}  // namespace

void add_token(BpeDefinition& definition, const std::string& token, bool special) {
  const std::string_view kind = special ? "special token" : "user-defined symbol";
  check_added_token(token, kind);
  require(!byte_of_piece(token), ErrorCode::kInvalidArgument, "the {} '{}' has the name of a byte piece", kind, token);
  require(std::find(definition.pieces.begin(), definition.pieces.end(), token) == definition.pieces.end(),
          ErrorCode::kInvalidArgument, "the {} '{}' is given twice", kind, token);
  definition.added_tokens.push_back({static_cast<std::int32_t>(definition.pieces.size()), special});
  definition.pieces.push_back(token);
}

}  // namespace dragoman::tokenizer
