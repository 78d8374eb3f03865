#include "huggingface/t5_tokenizer.h"

#include "huggingface/added_tokens.h"
#include "tokens/fit_tokenizer.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/tokenizer/sentencepiece_ids.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Json;
using core::quote;
using PieceType = tokenizer::UnigramPiece::Type;
using Ids = std::vector<std::int32_t>;

constexpr const char* kT5Pieces = "spiece.model";
constexpr const char* kT5Json = "tokenizer.json";

/// Returns T5's sentinels if no file lists them. The first sentinel has the highest id. Their number is `extra_ids` of
/// tokenizer_config.json, or T5's hundred if there is room for them.
std::vector<FolderToken> usual_sentinels(const HuggingFaceFolder& folder, std::int64_t first, std::int64_t size) {
  constexpr std::int64_t kUsual = 100;
  const std::int64_t room = size - first;
  std::int64_t count = room >= kUsual ? kUsual : 0;
  if (const auto said = folder.tokenizer.find("extra_ids"); said != folder.tokenizer.end() && said->is_number_integer())
    count = std::clamp<std::int64_t>(said->get<std::int64_t>(), 0, room);
  std::vector<FolderToken> tokens;
  for (std::int64_t i = 0; i < count; ++i) tokens.push_back({fmt::format("<extra_id_{}>", count - 1 - i), first + i});
  return tokens;
}

/// Returns the code of "<2de>": two or three letters, and any text after an underscore. MADLAD has other pieces of this
/// form (<2translate>), which are not languages.
std::string_view code_of_tag(std::string_view piece) {
  constexpr std::string_view kBlank = "\u2581";
  if (piece.starts_with(kBlank)) piece.remove_prefix(kBlank.size());
  if (!piece.starts_with("<2") || !piece.ends_with('>')) return {};
  const std::string_view code = piece.substr(2, piece.size() - 3);
  const std::string_view language = code.substr(0, code.find('_'));
  const bool letters = std::ranges::all_of(language, [](char c) { return c >= 'a' && c <= 'z'; });
  return letters && (language.size() == 2 || language.size() == 3) ? code : std::string_view();
}

class T5TokenizerReader {
 public:
  T5TokenizerReader(const HuggingFaceFolder& folder, const T5Architecture& architecture)
      : folder_(folder), sequences_(architecture.sequences), padding_(architecture.padding) {}

  T5Tokenizer read(const std::string& source_prefix) {
    const bool json = folder_.has(kT5Json);
    if (folder_.has(kT5Pieces) && !(json && has_text_tokens(folder_)))
      read_pieces();
    else if (json)
      read_json();
    else
      core::fail(ErrorCode::kBadInput, "{}: holds no tokenizer: neither {} nor {}", folder_.path.string(), kT5Pieces,
                 kT5Json);
    opened_ = open();
    add_languages();
    if (!source_prefix.empty()) read_.languages.always.source_prefix = in_front(source_prefix);
    return std::move(read_);
  }

 private:
  void read_pieces() {
    refuse_text_tokens(folder_);
    const std::string name = folder_.file(kT5Pieces).string();
    const std::string model = core::read_regular_file(folder_.file(kT5Pieces), tokenizer::TokenizerFile::kLargest);
    const auto pieces = tokenizer::sentencepiece_pieces(model, name);
    const auto size = static_cast<std::size_t>(sequences_.source_vocabulary);
    core::require(pieces.size() <= size, ErrorCode::kBadInput, "{}: has {} pieces, but {} says vocab_size {}", name,
                  pieces.size(), folder_.config_name(), size);
    tokenizer::RenumberedPieces list;
    const auto unknown = std::ranges::find(pieces, PieceType::kUnknown, &tokenizer::UnigramPiece::type);
    core::require(unknown != pieces.end(), ErrorCode::kBadInput, "{}: has no unknown piece", name);
    read_.unknown = static_cast<std::int32_t>(unknown - pieces.begin());
    list.unknown = read_.unknown;
    for (const tokenizer::UnigramPiece& piece : pieces) list.pieces.push_back({.text = piece.text});
    add_beside(list, size);
    for (const std::int32_t id : {sequences_.end, sequences_.decoder_start, padding_})
      if (id < static_cast<std::int32_t>(size) && id != read_.unknown)
        list.pieces[static_cast<std::size_t>(id)].type = PieceType::kControl;
    auto renumbered = tokenizer::renumber_sentencepiece(model, list, name);
    read_.spec = {.type = std::string(name_of(tokenizer::FileKind::kSentencePiece)),
                  .options = core::Json{{"listed", list.pieces.size()}},
                  .content = std::move(renumbered.model)};
  }

  /// Extends the list to `size` pieces, with pieces that files name and with unused ones.
  void add_beside(tokenizer::RenumberedPieces& list, std::size_t size) const {
    const auto own = static_cast<std::int64_t>(list.pieces.size());
    std::vector<FolderToken> beside = added_tokens(folder_);
    if (beside.empty()) beside = usual_sentinels(folder_, own, static_cast<std::int64_t>(size));
    core::TextSet taken;
    for (const tokenizer::ListedPiece& piece : list.pieces) taken.insert(piece.text);
    list.pieces.resize(size);
    for (const FolderToken& token : beside) {
      if (token.id < 0 || token.id >= static_cast<std::int64_t>(size))
        core::fail(ErrorCode::kBadInput, "{}: the token {} has the id {}, but {} says vocab_size {}",
                   folder_.path.string(), quote(token.text), token.id, folder_.config_name(), size);
      tokenizer::ListedPiece& place = list.pieces[static_cast<std::size_t>(token.id)];
      if (place.text == token.text) {
        if (token.special && token.id != read_.unknown) place.type = PieceType::kControl;
        continue;
      }
      if (token.text.empty() || !place.text.empty() || !taken.insert(token.text).second)
        core::fail(ErrorCode::kBadInput, "{}: two pieces want the id {}, or one two ids: {}", folder_.path.string(),
                   token.id, quote(token.text));
      place = {.text = token.text, .type = PieceType::kControl};
    }
    std::size_t made = 0;
    for (tokenizer::ListedPiece& piece : list.pieces)
      while (piece.text.empty())
        if (std::string text = fmt::format("<unused{}>", made++); taken.insert(text).second)
          piece.text = std::move(text);
  }

  void read_json() {
    const std::filesystem::path file = folder_.file(kT5Json);
    read_.spec.content = core::read_regular_file(file, tokenizer::TokenizerFile::kLargest);
    const auto opened = open();
    std::vector<std::string> pieces;
    for (std::int32_t id = 0; id < opened->size(); ++id) pieces.emplace_back(opened->piece(id));
    Vocabulary vocabulary(std::move(pieces), file.string());
    vocabulary.fill_up_to(sequences_.source_vocabulary, folder_.config_name());
    read_.unknown = vocabulary.id("<unk>", "the unknown piece");
    read_.spec = fit_tokenizer(file, vocabulary, {.unknown = read_.unknown, .end = sequences_.end});
  }

  std::unique_ptr<tokenizer::Tokenizer> open() const {
    const bool json = read_.spec.kind() == tokenizer::TokenizerSpec::kNative;
    const std::filesystem::path file = folder_.file(json ? kT5Json : kT5Pieces);
    core::OptionReader own(read_.spec.options.get(), file.string());
    return tokenizer::make_tokenizer(json ? tokenizer::FileKind::kTokenizerJson : tokenizer::FileKind::kSentencePiece,
                                     {.path = file, .content = read_.spec.content}, own);
  }

  Ids encode(const std::string& text) const { return opened_->encode(text, {.match_special_tokens = true}); }

  /// Returns the ids that precede the ids of a text if `prefix` is before it.
  Ids in_front(const std::string& prefix) const {
    const Ids text = encode("a");
    Ids both = encode(prefix + (prefix.ends_with(' ') ? "a" : " a"));
    if (both.size() <= text.size() || !std::equal(text.rbegin(), text.rend(), both.rbegin())) return encode(prefix);
    both.resize(both.size() - text.size());
    return both;
  }

  void add_languages() {
    core::TextViewSet known;  // views of the tokenizer's pieces
    for (std::int32_t id = 0; id < opened_->size(); ++id) {
      const std::string_view code = code_of_tag(opened_->piece(id));
      if (code.empty() || !known.insert(code).second) continue;
      if (known.size() > formats::LanguageTable::kMaxLanguages)
        core::fail(ErrorCode::kBadInput, "{}: its tokenizer has tags of more than {} languages", folder_.path.string(),
                   formats::LanguageTable::kMaxLanguages);
      read_.languages.languages.emplace_back(
          code, formats::LanguageTags{.source_prefix_as_target = in_front(fmt::format("<2{}>", code))});
    }
  }

  const HuggingFaceFolder& folder_;
  const nn::SequenceSpec& sequences_;
  std::int32_t padding_;
  T5Tokenizer read_;
  std::unique_ptr<tokenizer::Tokenizer> opened_;
};

}  // namespace

T5Tokenizer read_t5_tokenizer(const HuggingFaceFolder& folder, const T5Architecture& architecture,
                              const std::string& source_prefix) {
  return T5TokenizerReader(folder, architecture).read(source_prefix);
}

}  // namespace dragoman::imports
