#include "huggingface/tokenizers.h"

#include "huggingface/added_tokens.h"
#include "huggingface/language_codes.h"
#include "tokens/fit_tokenizer.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/sentencepiece_ids.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Json;
using core::quote;
using Family = HuggingFaceArchitecture::Family;
using tokenizer::RenumberedPieces;
using PieceType = tokenizer::UnigramPiece::Type;

constexpr const char* kPieceModel = "sentencepiece.bpe.model";
constexpr const char* kPegasusPieces = "spiece.model";
constexpr std::uint64_t kLongestModel = tokenizer::TokenizerFile::kLargest;

/// Texts by id; some may be missing at first.
class PieceList {
 public:
  PieceList(std::int64_t size, std::string where) : texts_(static_cast<std::size_t>(size)), where_(std::move(where)) {}

  void put(const std::string& text, std::int64_t id) {
    if (id < 0 || id >= static_cast<std::int64_t>(texts_.size()))
      core::fail(ErrorCode::kBadInput, "{}: {} has the id {}, but the model has {} pieces", where_, quote(text), id,
                 texts_.size());
    if (text.empty()) core::fail(ErrorCode::kBadInput, "{}: the piece {} is empty", where_, id);
    const auto known = ids_.find(text);
    std::string& place = texts_[static_cast<std::size_t>(id)];
    if (known != ids_.end() ? known->second != id : !place.empty())
      core::fail(ErrorCode::kBadInput, "{}: two pieces want the id {}, or one two ids: {}", where_, id, quote(text));
    place = text;
    ids_.emplace(text, id);
  }
  void put_if_free(const std::string& text, std::int64_t id) {
    if (id >= 0 && id < static_cast<std::int64_t>(texts_.size()) && texts_[static_cast<std::size_t>(id)].empty() &&
        !ids_.contains(text))
      put(text, id);
  }
  std::optional<std::int32_t> find(const std::string& text) const {
    const auto found = ids_.find(text);
    if (found == ids_.end()) return std::nullopt;
    return static_cast<std::int32_t>(found->second);
  }
  std::int32_t get(const std::string& text) const {
    const auto id = find(text);
    if (!id) core::fail(ErrorCode::kBadInput, "{}: there is no piece {}", where_, quote(text));
    return *id;
  }
  const std::string& text(std::int64_t id) const { return texts_[static_cast<std::size_t>(id)]; }
  std::int64_t size() const { return static_cast<std::int64_t>(texts_.size()); }

  /// Embeddings may have rows without a piece, because models are padded to round sizes.
  RenumberedPieces listed(const core::TextSet& control, std::int32_t unknown) const {
    RenumberedPieces list;
    std::size_t made = 0;
    for (const std::string& text : texts_) {
      std::string piece = text;
      while (piece.empty()) {
        piece = fmt::format("<unused{}>", made++);
        if (ids_.contains(piece)) piece.clear();
      }
      std::optional<PieceType> type;
      if (control.contains(text)) type = PieceType::kControl;
      list.pieces.push_back({std::move(piece), type});
    }
    list.unknown = unknown;
    return list;
  }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, std::int64_t> ids_;
  std::string where_;
};

tokenizer::TokenizerSpec renumbered(const std::filesystem::path& file, const RenumberedPieces& list) {
  const auto model =
      tokenizer::renumber_sentencepiece(core::read_regular_file(file, kLongestModel), list, file.string());
  return {.type = std::string(tokenizer::name_of(tokenizer::FileKind::kSentencePiece)),
          .options = core::Json{{"listed", list.pieces.size()}},
          .content = model.model};
}

PieceList read_vocabulary(const HuggingFaceFolder& folder, const char* name, std::int64_t size) {
  const std::string where = folder.file(name).string();
  PieceList pieces(size, where);
  const Json vocabulary = folder.object_of(name);
  for (const auto& [text, id] : vocabulary.items()) {
    if (!id.is_number_integer()) core::fail(ErrorCode::kBadInput, "{}: {}: must be an id", where, quote(text));
    pieces.put(text, id.get<std::int64_t>());
  }
  return pieces;
}

/// Inserts the added tokens at their ids, all as control pieces.
void put_added_tokens(const HuggingFaceFolder& folder, PieceList& pieces, core::TextSet& control) {
  for (const FolderToken& token : added_tokens(folder)) {
    pieces.put(token.text, token.id);
    control.insert(token.text);
  }
}

/// Returns the code in a tag of M2M-100 ("__de__") or OPUS-MT (">>deu<<"), or an empty string if it is not a tag.
std::string_view code_within(std::string_view text, std::string_view before, std::string_view behind) {
  if (text.size() <= before.size() + behind.size() || !text.starts_with(before) || !text.ends_with(behind)) return {};
  return text.substr(before.size(), text.size() - before.size() - behind.size());
}

/// Returns the language that a folder names for a side, if the table has it.
std::string usual_language(const HuggingFaceFolder& folder, const char* key, const formats::LanguageTable& table) {
  const std::string language = text_of(folder.tokenizer, key);
  return table.find(language) != nullptr ? language : std::string();
}

class TokenizerReader {
 public:
  TokenizerReader(const HuggingFaceFolder& folder, const HuggingFaceArchitecture& architecture)
      : folder_(folder), architecture_(architecture) {}

  HuggingFaceTokenizers read() {
    if (uses_tokenizer_json()) {
      read_as_they_are();
      add_listed_languages();
    } else {
      refuse_text_tokens(folder_);
      read_files_of_family();
    }
    if (architecture_.family == Family::kBart) read_.languages.always.source_prefix = {sequences().begin};
    force_first_token();
    return std::move(read_);
  }

 private:
  const nn::SequenceSpec& sequences() const { return architecture_.sequences; }

  /// Returns whether the tokenizer is read from tokenizer.json. BART's native one is. The others are built from their
  /// SentencePiece models, unless these are missing (as in folders saved by transformers 5) or lack some tokens.
  bool uses_tokenizer_json() const {
    if (!folder_.has("tokenizer.json")) return false;
    if (architecture_.family == Family::kBart || has_text_tokens(folder_)) return true;
    return architecture_.family != Family::kMarian && architecture_.family != Family::kPegasus &&
           !folder_.has(kPieceModel);
  }

  void read_files_of_family() {
    switch (architecture_.family) {
      case Family::kMarian:
        if (folder_.has("vocab.json"))
          read_marian();
        else
          read_as_they_are();
        return;
      case Family::kPegasus:
        if (folder_.has(kPegasusPieces))
          read_pegasus();
        else if (folder_.has("source.spm") && folder_.has("vocab.json"))
          read_marian();
        else
          read_as_they_are();
        return;
      case Family::kBart:
        read_bart();
        return;
      case Family::kMBart:
      case Family::kM2M100:
        if (folder_.has("vocab.json"))
          read_m2m();
        else
          read_moved();
        return;
    }
  }

  /// Adds the languages of a tokenizer.json of mBART, M2M-100 or NLLB: special tokens that look like codes.
  void add_listed_languages() {
    if (architecture_.family != Family::kMBart && architecture_.family != Family::kM2M100) return;
    const std::filesystem::path file = folder_.file("tokenizer.json");
    const Json none = Json::object();
    core::OptionReader own(none, file.string());
    const auto opened = tokenizer::make_tokenizer(tokenizer::FileKind::kTokenizerJson,
                                                  {.path = file, .content = read_.joint.content}, own);
    const bool behind = tags_stand_behind();
    for (std::int32_t id = 0; id < opened->size(); ++id) {
      if (!opened->is_special(id)) continue;
      const std::string text(opened->piece(id));
      const std::string code(is_language_code(text) ? text : code_within(text, "__", "__"));
      if (!code.empty()) add_language(code, id, behind && code == text);
    }
    set_usual_languages();
  }

  void set_usual_languages() {
    read_.languages.source_language = usual_language(folder_, "src_lang", read_.languages);
    read_.languages.target_language = usual_language(folder_, "tgt_lang", read_.languages);
  }

  /// Special tokens of the configuration become control pieces, regardless of their texts. Padding belongs to the
  /// source vocabulary, and the decoder's first input to the target vocabulary.
  void add_special(const PieceList& pieces, bool source, bool target, core::TextSet& control) const {
    std::vector<std::int32_t> ids{sequences().begin, sequences().end};
    if (source) ids.push_back(architecture_.padding);
    if (target) ids.push_back(sequences().decoder_start);
    for (const std::int32_t id : ids)
      if (id < pieces.size()) control.insert(pieces.text(id));
    if (pieces.find("<pad>")) control.insert("<pad>");
    control.erase("");
    control.erase("<unk>");
  }

  tokenizer::TokenizerSpec marian_side(const char* model, PieceList pieces, bool source, bool target) {
    core::TextSet control;
    if (source)
      put_added_tokens(folder_, pieces, control);
    else  // their ids are for the source vocabulary; the target vocabulary may have its own
      for (const FolderToken& token : added_tokens(folder_)) {
        pieces.put_if_free(token.text, token.id);
        control.insert(token.text);
      }
    add_special(pieces, source, target, control);
    for (std::int64_t id = 0; id < pieces.size(); ++id)
      if (!code_within(pieces.text(id), ">>", "<<").empty()) control.insert(pieces.text(id));
    return renumbered(folder_.file(model), pieces.listed(control, pieces.get("<unk>")));
  }

  /// Reads a SentencePiece model for each side, and a list of pieces for both or for each.
  void read_marian() {
    const auto source = read_vocabulary(folder_, "vocab.json", sequences().source_vocabulary);
    read_.unknown = source.get("<unk>");
    const auto said = folder_.tokenizer.find("separate_vocabs");
    const bool separate = folder_.has("target_vocab.json") ||
                          (said != folder_.tokenizer.end() && said->is_boolean() && said->get<bool>());
    read_.source = marian_side("source.spm", source, true, !separate);
    if (separate) {
      const auto target = read_vocabulary(folder_, "target_vocab.json", sequences().target_vocabulary);
      core::require(target.get("<unk>") == read_.unknown, ErrorCode::kUnsupported,
                    "{}: <unk> has another id than in vocab.json", folder_.file("target_vocab.json").string());
      read_.target = marian_side("target.spm", target, false, true);
    } else {
      core::require(sequences().source_vocabulary == sequences().target_vocabulary, ErrorCode::kBadInput,
                    "{}: decoder_vocab_size is not vocab_size, but there is no target_vocab.json",
                    folder_.config_name());
      read_.target = marian_side("target.spm", source, true, true);
    }
    for (std::int64_t id = 0; id < source.size(); ++id)
      if (const std::string_view code = code_within(source.text(id), ">>", "<<"); !code.empty())
        read_.languages.languages.emplace_back(
            code, formats::LanguageTags{.source_prefix_as_target = {static_cast<std::int32_t>(id)}});
  }

  /// Reads the pieces of a SentencePiece model, which follow the special tokens of gap-sentence training:
  /// PegasusTokenizer.
  void read_pegasus() {
    constexpr std::int64_t kOffset = 103;
    const std::string name = folder_.file(kPegasusPieces).string();
    const auto model =
        tokenizer::sentencepiece_pieces(core::read_regular_file(folder_.file(kPegasusPieces), kLongestModel), name);
    PieceList pieces(sequences().source_vocabulary, name);
    core::TextSet control;
    put_added_tokens(folder_, pieces, control);
    std::int64_t offset = kOffset;
    if (const auto said = folder_.tokenizer.find("offset"); said != folder_.tokenizer.end())
      offset = said->is_number_integer() ? said->get<std::int64_t>() : -1;
    core::require(offset == 0 || (offset >= 4 && offset < sequences().source_vocabulary), ErrorCode::kBadInput,
                  "{}: offset: must be 0, or from 4 to the size of the vocabulary",
                  folder_.file("tokenizer_config.json").string());
    const auto reserve = [&](const std::string& text, std::int64_t id) {
      pieces.put_if_free(text, id);
      control.insert(text);
    };
    reserve("<pad>", 0);
    reserve("</s>", 1);
    if (offset > 0) {
      reserve("<mask_1>", 2);
      reserve("<mask_2>", 3);
      for (std::int64_t i = 2; i < offset; ++i) reserve(fmt::format("<unk_{}>", i), i + 2);
    }
    // The first two pieces of the model are the padding and the end.
    for (std::size_t i = 2; i < model.size(); ++i)
      pieces.put_if_free(model[i].text, static_cast<std::int64_t>(i) + offset);
    add_special(pieces, true, true, control);
    read_.unknown = pieces.get("<unk>");
    read_.joint = renumbered(folder_.file(kPegasusPieces), pieces.listed(control, read_.unknown));
  }

  /// Reads tokenizers whose ids are equal to the model's, as written by `convert --to huggingface` and by transformers
  /// since version 5.
  void read_as_they_are() {
    // MarianTokenizer has the ids of vocab.json, and never the ids of its SentencePiece models.
    const auto said = folder_.tokenizer.find("tokenizer_class");
    core::require(said == folder_.tokenizer.end() || *said != "MarianTokenizer" || !folder_.has("source.spm"),
                  ErrorCode::kBadInput,
                  "{}: there is no such file; it has the ids of the pieces, which source.spm and target.spm have not",
                  folder_.file("vocab.json").string());
    const TokenizerPaths files = find_tokenizers(folder_.path);
    core::require(
        !files.empty(), ErrorCode::kBadInput, "{}: holds no tokenizer: neither {} nor a tokenizer.json",
        folder_.path.string(),
        architecture_.family == Family::kPegasus ? kPegasusPieces : "vocab.json with source.spm and target.spm");
    const auto side = [&](const std::filesystem::path& file, std::int64_t size) {
      const std::string content = core::read_regular_file(file, kLongestModel);
      const Json none = Json::object();
      core::OptionReader own(none, file.string());
      const tokenizer::FileKind kind = tokenizer::recognise(file, content);
      const auto opened = tokenizer::make_tokenizer(kind, {.path = file, .content = content}, own);
      std::vector<std::string> texts;
      for (std::int32_t id = 0; id < opened->size(); ++id) texts.emplace_back(opened->piece(id));
      // A SentencePiece model written by Dragoman may have pieces that the model lacks after the others, as for
      // OPUS-MT.
      if (kind == tokenizer::FileKind::kSentencePiece)
        texts.resize(std::min(texts.size(), static_cast<std::size_t>(size)));
      Vocabulary vocabulary(std::move(texts), file.string());
      vocabulary.fill_up_to(size, folder_.config_name());
      read_.unknown = vocabulary.id("<unk>", "the unknown piece");
      return fit_tokenizer(file, vocabulary, {.unknown = read_.unknown, .end = sequences().end});
    };
    if (!files.joint.empty()) {
      core::require(sequences().source_vocabulary == sequences().target_vocabulary, ErrorCode::kBadInput,
                    "{}: decoder_vocab_size is not vocab_size, but there is one tokenizer for both",
                    folder_.config_name());
      read_.joint = side(files.joint, sequences().source_vocabulary);
      return;
    }
    read_.source = side(files.source, sequences().source_vocabulary);
    const std::int32_t unknown = read_.unknown;
    read_.target = side(files.target, sequences().target_vocabulary);
    core::require(read_.unknown == unknown, ErrorCode::kUnsupported, "{}: <unk> has another id than in {}",
                  files.target.string(), files.source.filename().string());
  }

  void read_bart() {
    Gpt2Tokenizer read = read_gpt2_tokenizer(folder_);
    read_.unknown = read.unknown;
    read_.joint = std::move(read.spec);
  }

  /// Reads the pieces of a SentencePiece model with the ids of a separate list, followed by language tags.
  void read_m2m() {
    PieceList pieces = read_vocabulary(folder_, "vocab.json", sequences().source_vocabulary);
    std::int64_t next = 0;
    for (std::int64_t id = 0; id < pieces.size(); ++id)
      if (!pieces.text(id).empty()) next = id + 1;
    for (const std::string_view code : language_codes(LanguageCodes::kM2M100))
      pieces.put_if_free(fmt::format("__{}__", code), next++);
    core::TextSet control;
    put_added_tokens(folder_, pieces, control);
    for (std::int64_t id = 0; id < pieces.size(); ++id) {
      const std::string_view code = code_within(pieces.text(id), "__", "__");
      if (code.empty()) continue;
      control.insert(pieces.text(id));
      add_language(std::string(code), static_cast<std::int32_t>(id), false);
    }
    finish_joint(pieces, control);
  }

  /// Reads fairseq's ids of a SentencePiece model: four special tokens, its pieces except the first three, and tags.
  void read_moved() {
    const std::string name = folder_.file(kPieceModel).string();
    const auto model =
        tokenizer::sentencepiece_pieces(core::read_regular_file(folder_.file(kPieceModel), kLongestModel), name);
    PieceList pieces(sequences().source_vocabulary, name);
    core::TextSet control;
    std::int64_t next = 0;
    for (const char* text : {"<s>", "<pad>", "</s>", "<unk>"}) pieces.put(text, next++);
    for (std::size_t i = 3; i < model.size(); ++i) pieces.put(model[i].text, next++);
    put_added_tokens(folder_, pieces, control);
    std::vector<std::string> more = additional_tokens(folder_);
    std::erase_if(more, [](const std::string& text) { return !is_language_code(text); });
    if (more.empty() && architecture_.family == Family::kMBart) {
      const bool fifty = sequences().source_vocabulary - next >= 53;
      for (const std::string_view code : language_codes(fifty ? LanguageCodes::kMBart50 : LanguageCodes::kMBart25))
        more.emplace_back(code);
    }
    if (control.empty()) {
      for (const std::string& text : more) pieces.put_if_free(text, next++);
      pieces.put_if_free("<mask>", next);
      control.insert("<mask>");
    }
    const bool behind = tags_stand_behind();
    for (std::int64_t id = 0; id < pieces.size(); ++id) {
      const std::string& text = pieces.text(id);
      if (!is_language_code(text) || (!control.contains(text) && std::ranges::find(more, text) == more.end())) continue;
      control.insert(text);
      add_language(text, static_cast<std::int32_t>(id), behind);
    }
    finish_joint(pieces, control);
  }

  /// Returns whether the tag of the source language comes after the source's end, as in models before mBART-50 and in
  /// the first published version of NLLB.
  bool tags_stand_behind() const {
    if (architecture_.family == Family::kM2M100) {
      const auto legacy = folder_.tokenizer.find("legacy_behaviour");
      return legacy != folder_.tokenizer.end() && *legacy == Json(true);
    }
    const std::string kind = text_of(folder_.tokenizer, "tokenizer_class");
    if (!kind.empty()) return !kind.starts_with("MBart50");
    // mBART-50 has 250 054 rows and 52 languages, mBART 250 027 and 25.
    return sequences().source_vocabulary < 250054;
  }

  void add_language(std::string code, std::int32_t id, bool behind) {
    formats::LanguageTags tags;
    (behind ? tags.source_suffix : tags.source_prefix) = {id};
    tags.target_prefix = {id};
    // A target whose tag is the decoder's first input has it already.
    if (id == sequences().decoder_start) tags.target_prefix.clear();
    read_.languages.languages.emplace_back(std::move(code), std::move(tags));
  }

  void finish_joint(const PieceList& pieces, core::TextSet& control) {
    add_special(pieces, true, true, control);
    read_.unknown = pieces.get("<unk>");
    read_.joint = renumbered(folder_.file(kPieceModel), pieces.listed(control, read_.unknown));
    set_usual_languages();
  }

  /// Applies forced_bos_token_id: a language, which becomes the default target, or else the first token of every
  /// translation.
  void force_first_token() {
    for (const Json* config : {&folder_.generation, &folder_.config}) {
      const auto found = config->find("forced_bos_token_id");
      if (found == config->end()) continue;
      const Json* const forced = found->is_array() && found->size() == 1 ? &found->front() : &*found;
      if (!forced->is_number_integer()) continue;
      core::require(*forced >= 0 && *forced < sequences().target_vocabulary && *forced != sequences().end,
                    ErrorCode::kBadInput, "{}: forced_bos_token_id: is no token that a translation could begin with",
                    folder_.config_name());
      const auto id = forced->get<std::int32_t>();
      for (const auto& [code, tags] : read_.languages.languages)
        if (tags.target_prefix == std::vector{id}) {
          read_.languages.target_language = code;
          return;
        }
      read_.languages.always.target_prefix = {id};
      return;
    }
  }

  const HuggingFaceFolder& folder_;
  const HuggingFaceArchitecture& architecture_;
  HuggingFaceTokenizers read_;
};

}  // namespace

HuggingFaceTokenizers read_tokenizers(const HuggingFaceFolder& folder, const HuggingFaceArchitecture& architecture) {
  return TokenizerReader(folder, architecture).read();
}

}  // namespace dragoman::imports
