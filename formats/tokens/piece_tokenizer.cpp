#include "tokens/piece_tokenizer.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Quoted;
using tokenizer::Piece;

class PieceTokenizer final : public tokenizer::Tokenizer {
 public:
  explicit PieceTokenizer(const tokenizer::TokenizerFile& file) {
    const std::string name = file.path.string();
    const core::Json json = core::parse_json(file.content, name);
    core::OptionReader fields(json, name);
    const core::Json& pieces = fields.subtree("pieces");
    const core::Json& special = fields.subtree("special");
    fields.check(pieces.is_array() && !pieces.empty(), "pieces", "must be a list of texts");
    fields.check(special.is_array() && !special.empty(), "special",
                 "must be a list of ids, of which the first is the unknown piece");
    fields.finish();
    for (const core::Json& piece : pieces) add(piece, name);
    special_.resize(pieces_.size());
    for (const core::Json& id : special) {
      fields.check(id.is_number_unsigned() && id.get<std::uint64_t>() < pieces_.size(), "special",
                   "must be ids of pieces");
      special_[id.get<std::size_t>()] = true;
    }
    unknown_ = special.front().get<std::int32_t>();
  }

  std::int32_t size() const override { return static_cast<std::int32_t>(pieces_.size()); }

  std::vector<std::int32_t> encode(std::string_view text, const tokenizer::EncodeOptions& options) const override {
    std::vector<std::int32_t> ids;
    for (const Piece& piece : encode_pieces(text, options)) ids.push_back(piece.id);
    return ids;
  }

  std::vector<Piece> encode_pieces(std::string_view text, const tokenizer::EncodeOptions& options) const override {
    core::require(options.mode == tokenizer::EncodingMode::kExact, ErrorCode::kUnsupported,
                  "the text is pieces already, so only the mode exact is supported");
    std::vector<Piece> found;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t first = text.find_first_not_of(' ', begin);
      if (first == std::string_view::npos) {
        if (found.empty()) found.push_back({unknown_, begin, text.size()});
        found.back().end = text.size();
        break;
      }
      const std::size_t end = std::min(text.find(' ', first), text.size());
      found.push_back({id_of(text.substr(first, end - first), options.match_special_tokens), begin, end});
      begin = end;
    }
    return found;
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      const std::string_view written = piece(id);
      if (special_[static_cast<std::size_t>(id)]) continue;
      if (!text.empty()) text += ' ';
      text += written;
    }
    return text;
  }

  std::string_view piece(std::int32_t id) const override {
    core::require(id >= 0 && id < size(), ErrorCode::kInvalidArgument, "{} is not an id from 0 to {}", id, size() - 1);
    return pieces_[static_cast<std::size_t>(id)];
  }
  std::optional<std::int32_t> id(std::string_view piece) const override {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  bool is_special(std::int32_t id) const override {
    piece(id);
    return special_[static_cast<std::size_t>(id)];
  }

 private:
  void add(const core::Json& json, const std::string& name) {
    core::require(json.is_string() && !json.get_ref<const std::string&>().empty(), ErrorCode::kBadInput,
                  "{}: piece {} is no text, or empty", name, pieces_.size());
    auto piece = json.get<std::string>();
    const auto [known, is_new] = ids_.emplace(piece, size());
    core::require(is_new, ErrorCode::kBadInput, "{}: {} is piece {} and {}", name, Quoted{piece}, known->second,
                  size());
    pieces_.push_back(std::move(piece));
  }

  std::int32_t id_of(std::string_view word, bool match_special) const {
    const auto found = ids_.find(word);
    if (found == ids_.end() || (special_[static_cast<std::size_t>(found->second)] && !match_special)) return unknown_;
    return found->second;
  }

  std::vector<std::string> pieces_;
  std::vector<bool> special_;
  core::TextMap<std::int32_t> ids_;
  std::int32_t unknown_ = 0;
};

}  // namespace

std::string write_pieces(const std::vector<std::string>& pieces, std::span<const std::int32_t> special) {
  return core::one_line({{"pieces", pieces}, {"special", std::vector<std::int32_t>(special.begin(), special.end())}}) +
         "\n";
}

TokenizerEntry piece_tokenizer_entry() {
  return {
      .name = kPieceTokenizer,
      .summary = "pieces with spaces between them, for models that came without a tokenizer",
      .make = [](const tokenizer::TokenizerFile& file, core::OptionReader&) -> std::unique_ptr<tokenizer::Tokenizer> {
        return std::make_unique<PieceTokenizer>(file);
      },
      .example = {.content = write_pieces({"<unk>", "</s>", "\xE2\x96\x81the", "te", "a"}, std::vector{0, 1}),
                  .texts = {"\xE2\x96\x81the te a", "a"}}};
}

}  // namespace dragoman::imports
