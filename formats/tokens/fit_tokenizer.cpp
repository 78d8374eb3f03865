#include "tokens/fit_tokenizer.h"

#include "tokens/piece_tokenizer.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/tokenizer/sentencepiece_ids.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Quoted;
using std::filesystem::path;
using tokenizer::FileKind;

bool all_of(std::string_view text, int (*holds)(int)) {
  return std::ranges::all_of(text, [&](char c) { return holds(static_cast<unsigned char>(c)) != 0; });
}

/// Returns whether the piece is a tag like OPUS-MT's >>fra<<, M2M-100's __fr__ or NLLB's fra_Latn. mBART's fr_XX is
/// excluded, because SentencePiece models have pieces of that form which are text.
bool is_language_tag(std::string_view piece) {
  if (piece.size() > 4 && piece.starts_with(">>") && piece.ends_with("<<")) return true;
  if (piece.size() > 4 && piece.starts_with("__") && piece.ends_with("__")) return true;
  return piece.size() == 8 && piece[3] == '_' && all_of(piece.substr(0, 3), std::islower) &&
         std::isupper(static_cast<unsigned char>(piece[4])) != 0 && all_of(piece.substr(5), std::islower);
}

tokenizer::TokenizerSpec fit_sentencepiece(const path& file, const std::string& content, const Vocabulary& vocabulary,
                                           const SpecialPieces& special) {
  tokenizer::RenumberedPieces list{
      .pieces = {}, .unknown = special.unknown, .begin = special.begin, .end = special.end};
  if (special.start && special.start != special.begin) list.padding = special.start;
  for (const std::string& piece : vocabulary.pieces()) {
    list.pieces.push_back({.text = piece});
    if (is_language_tag(piece)) list.pieces.back().type = tokenizer::UnigramPiece::Type::kControl;
  }
  tokenizer::RenumberedModel renumbered = tokenizer::renumber_sentencepiece(content, list, file.string());
  // If the model is for another language pair, almost nothing is listed.
  const std::size_t known = list.pieces.size() - std::min(list.pieces.size(), renumbered.lacking);
  core::require(renumbered.beyond <= 4 * known + 64, ErrorCode::kBadInput,
                "{}: of its pieces {} are not in {}, which has {}; it belongs to another model", file.string(),
                renumbered.beyond, vocabulary.name(), vocabulary.size());
  tokenizer::TokenizerSpec fitted{.type = std::string(name_of(FileKind::kSentencePiece)),
                                  .content = std::move(renumbered.model)};
  if (renumbered.beyond > 0) fitted.options = core::Json{{"listed", vocabulary.size()}};
  return fitted;
}

tokenizer::TokenizerSpec fit_tokenizer_json(const path& file, std::string content, const Vocabulary& vocabulary,
                                            const SpecialPieces& special) {
  const auto open = [&] {
    const core::Json none = core::Json::object();
    core::OptionReader own(none, file.string());
    return tokenizer::make_tokenizer(FileKind::kTokenizerJson, {.path = file, .content = content}, own);
  };
  auto opened = open();
  if (opened->size() < vocabulary.size()) {
    // Pieces that the file lacks: added by the importer, or padding of the table.
    core::Json json = core::parse_json(content, file.string(), core::EqualKeys::kLastCounts);
    for (std::int32_t id = opened->size(); id < vocabulary.size(); ++id)
      json["added_tokens"].push_back({{"id", id},
                                      {"content", vocabulary.pieces()[static_cast<std::size_t>(id)]},
                                      {"single_word", false},
                                      {"lstrip", false},
                                      {"rstrip", false},
                                      {"normalized", false},
                                      {"special", true}});
    content = json.dump();
    opened = open();
  }
  core::require(opened->size() == vocabulary.size(), ErrorCode::kBadInput, "{}: has {} pieces, but {} has {}",
                file.string(), opened->size(), vocabulary.name(), vocabulary.size());
  for (std::int32_t id = 0; id < vocabulary.size(); ++id)
    core::require(opened->piece(id) == vocabulary.pieces()[static_cast<std::size_t>(id)], ErrorCode::kBadInput,
                  "{}: piece {} is {}, but in {} it is {}; it belongs to another model", file.string(), id,
                  Quoted{opened->piece(id)}, vocabulary.name(),
                  Quoted{vocabulary.pieces()[static_cast<std::size_t>(id)]});
  for (const std::int32_t id : {special.end, special.unknown})
    core::require(opened->is_special(id), ErrorCode::kBadInput, "{}: {} is no special token, as it is to the model",
                  file.string(), Quoted{opened->piece(id)});
  return {.content = std::move(content)};
}

/// Returns the first of these names that exists in the folder.
path first_of(const path& folder, std::initializer_list<const char*> names) {
  std::error_code ignored;
  for (const char* name : names)
    if (std::filesystem::is_regular_file(folder / name, ignored)) return folder / name;
  return {};
}

}  // namespace

tokenizer::TokenizerSpec fit_tokenizer(const path& file, const Vocabulary& vocabulary, const SpecialPieces& special) {
  std::string content = core::read_regular_file(file, tokenizer::TokenizerFile::kLargest);
  switch (tokenizer::recognise(file, content)) {
    case FileKind::kSentencePiece:
      return fit_sentencepiece(file, content, vocabulary, special);
    case FileKind::kTokenizerJson:
      return fit_tokenizer_json(file, std::move(content), vocabulary, special);
    default:
      break;
  }
  core::fail(ErrorCode::kUnsupported,
             "{}: is neither a SentencePiece model nor a tokenizer.json; make a tokenizer.json of it with dragoman "
             "convert",
             file.string());
}

tokenizer::TokenizerSpec piece_tokenizer(const Vocabulary& vocabulary, const SpecialPieces& special) {
  std::vector<std::int32_t> ids{special.unknown, special.end};
  for (const auto& id : {special.begin, special.start})
    if (id) ids.push_back(*id);
  return {.type = kPieceTokenizer, .content = write_pieces(vocabulary.pieces(), ids)};
}

TokenizerPaths find_tokenizers(const path& folder) {
  TokenizerPaths found{.source = first_of(folder, {"source.spm", "source.model", "src.spm", "src.model",
                                                   "source.tokenizer.json", "source_tokenizer.json"}),
                       .target = first_of(folder, {"target.spm", "target.model", "tgt.spm", "trg.spm", "tgt.model",
                                                   "trg.model", "target.tokenizer.json", "target_tokenizer.json"})};
  if (!found.source.empty() && !found.target.empty()) return found;
  const path alone = found.source.empty() ? found.target : found.source;
  found = {.joint =
               first_of(folder, {"tokenizer.json", "sentencepiece.bpe.model", "sentencepiece.model", "spiece.model",
                                 "spm.model", "sp.model", "vocab.spm", "spm.128k.model", "tokenizer.model"})};
  core::require(
      alone.empty() || !found.joint.empty(), ErrorCode::kBadInput,
      "{}: there is a tokenizer of one side, {}, and none of the other nor one of both; bring it, or name the "
      "tokenizers to the importer",
      folder.string(), alone.filename().string());
  return found;
}

}  // namespace dragoman::imports
