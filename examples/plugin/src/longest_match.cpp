#include "longest_match.h"

#include <algorithm>
#include <string>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/utf8.h>

namespace example {
namespace {

using namespace dragoman;
using core::ErrorCode;
using tokenizer::EncodingMode;
using tokenizer::Piece;

constexpr std::int32_t kUnknown = 0;

bool is_special_name(std::string_view piece) {
  return piece.size() > 2 && piece.front() == '<' && piece.back() == '>';
}

/// What stands in a line of pieces has no blank and no line end.
bool can_be_listed(std::string_view piece) {
  return !piece.empty() && piece.find_first_of(" \t\r\n") == std::string_view::npos &&
         core::find_invalid_utf8(piece) == std::string_view::npos;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t found = std::min(text.find(from, begin), text.size());
    result.append(text.substr(begin, found - begin));
    if (found < text.size()) result += to;
    begin = found + from.size();
  }
  return result;
}

class LongestMatch final : public tokenizer::Tokenizer {
 public:
  LongestMatch(const tokenizer::TokenizerFile& file, std::string space) : space_(std::move(space)) {
    const std::string_view list = file.content;
    for (std::size_t begin = 0; begin < list.size();) {
      const std::size_t end = std::min(list.find('\n', begin), list.size());
      add(std::string(list.substr(begin, end - begin)), file.path.string());
      begin = end + 1;
    }
    core::require(!pieces_.empty(), ErrorCode::kBadInput, "{}: holds no piece; write one on each line, <unk> first",
                  file.path.string());
  }

  std::int32_t size() const override { return static_cast<std::int32_t>(pieces_.size()); }

  std::vector<std::int32_t> encode(std::string_view text, const tokenizer::EncodeOptions& options) const override {
    std::vector<std::int32_t> ids;
    for (const Piece& piece : encode_pieces(text, options)) ids.push_back(piece.id);
    return ids;
  }

  std::vector<Piece> encode_pieces(std::string_view text, const tokenizer::EncodeOptions& options) const override {
    core::require(options.mode == EncodingMode::kExact, ErrorCode::kUnsupported,
                  "a list of pieces has no merges, so only the mode exact is supported: the longest match");
    std::vector<Piece> found;
    for (std::size_t begin = 0; begin < text.size(); begin = found.back().end)
      found.push_back(longest_at(text, begin, options.match_special_tokens));
    return found;
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids)
      if (const std::string_view written = piece(id); !is_special(id)) text += replaced(written, space_, " ");
    return text;
  }

  std::string_view piece(std::int32_t id) const override {
    core::require(id >= 0 && id < size(), ErrorCode::kInvalidArgument, "{} is not an id from 0 to {}", id, size() - 1);
    return pieces_[static_cast<std::size_t>(id)];
  }

  std::optional<std::int32_t> id(std::string_view piece) const override {
    const auto found = ids_.find(std::string(piece));
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

  bool is_special(std::int32_t id) const override { return id == kUnknown || is_special_name(piece(id)); }

 private:
  void add(std::string piece, const std::string& name) {
    const auto line = pieces_.size() + 1;
    core::require(can_be_listed(piece), ErrorCode::kBadInput,
                  "{}: line {}: is empty, not UTF-8, or holds a blank; a space is written {}", name, line, space_);
    const auto id = static_cast<std::int32_t>(pieces_.size());
    core::require(ids_.emplace(piece, id).second, ErrorCode::kBadInput,
                  "{}: line {}: stands in the list already; each piece once", name, line);
    // Whoever could write a special token in a text would end the sentence there, so those are apart.
    const bool special = pieces_.empty() || is_special_name(piece);
    const std::string text = special ? piece : replaced(piece, space_, " ");
    (special ? specials_ : texts_).emplace(text, id);
    longest_ = std::max(longest_, text.size());
    pieces_.push_back(std::move(piece));
  }

  Piece longest_at(std::string_view text, std::size_t begin, bool match_special) const {
    for (std::size_t length = std::min(longest_, text.size() - begin); length > 0; --length) {
      const std::string candidate(text.substr(begin, length));
      if (const auto found = texts_.find(candidate); found != texts_.end())
        return {found->second, begin, begin + length};
      if (!match_special) continue;
      if (const auto found = specials_.find(candidate); found != specials_.end())
        return {found->second, begin, begin + length};
    }
    return {kUnknown, begin, begin + core::decode_utf8(text, begin).length};
  }

  std::string space_;
  std::vector<std::string> pieces_;
  core::TextMap<std::int32_t> ids_;    ///< by how the list writes them
  core::TextMap<std::int32_t> texts_;  ///< by the text that they stand for
  core::TextMap<std::int32_t> specials_;
  std::size_t longest_ = 0;
};

}  // namespace

std::unique_ptr<tokenizer::Tokenizer> make_longest_match(const tokenizer::TokenizerFile& file,
                                                         core::OptionReader& options) {
  std::string space = options.get("space", "\xE2\x96\x81");
  options.check(can_be_listed(space), "space", "must be a character, or several, without blanks");
  return std::make_unique<LongestMatch>(file, std::move(space));
}

tokenizer::TokenizerExample longest_match_example() {
  return {.content = "<unk>\n<s>\n</s>\n_\na\nc\nt\nthe\ncat\n_cat\n\xC3\xBC\n",
          .texts = {"the cat", "cat  the",
                    " \xC3\xBC"
                    "act "},
          .options = dragoman::core::Json{{"space", "_"}}};
}

}  // namespace example
