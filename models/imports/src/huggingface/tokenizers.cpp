#include "huggingface/tokenizers.h"

#include "huggingface/language_codes.h"
#include "tokens/fit_tokenizer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
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
using Type = tokenizer::UnigramPiece::Type;

constexpr const char* kPieceModel = "sentencepiece.bpe.model";
constexpr const char* kPegasusPieces = "spiece.model";
constexpr std::uint64_t kLongestModel = tokenizer::TokenizerFile::kLargest;

/// Texts by id, some of which may be missing at first.
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

  /// Embeddings may have rows that no piece is of: models are padded to round sizes.
  RenumberedPieces listed(const std::unordered_set<std::string>& control, std::int32_t unknown) const {
    RenumberedPieces list;
    std::size_t made = 0;
    for (const std::string& text : texts_) {
      std::string piece = text;
      while (piece.empty()) {
        piece = fmt::format("<unused{}>", made++);
        if (ids_.contains(piece)) piece.clear();
      }
      std::optional<Type> type;
      if (control.contains(text)) type = Type::kControl;
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

formats::TokenizerContent renumbered(const std::filesystem::path& file, const RenumberedPieces& list) {
  const auto model =
      tokenizer::renumber_sentencepiece(core::read_regular_file(file, kLongestModel), list, file.string());
  return {.content = model.model,
          .stored = {.kind = {.type = std::string(tokenizer::name_of(tokenizer::FileKind::kSentencePiece)),
                              .options = {{"listed", list.pieces.size()}}}}};
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

/// Special tokens and their ids, which newer folders have in tokenizer_config.json and older ones in added_tokens.json.
void put_added_tokens(const HuggingFaceFolder& folder, PieceList& pieces, std::unordered_set<std::string>& control) {
  const auto added = folder.tokenizer.find("added_tokens_decoder");
  if (added != folder.tokenizer.end() && added->is_object()) {
    for (const auto& [id, token] : added->items()) {
      const bool number = !id.empty() && id.size() < 9 && id.find_first_not_of("0123456789") == std::string::npos;
      if (!number || !token.is_object() || !token.contains("content") || !token["content"].is_string())
        core::fail(ErrorCode::kBadInput, "{}: added_tokens_decoder: {}: must be an id with a content",
                   folder.file("tokenizer_config.json").string(), quote(id));
      const auto& text = token["content"].get_ref<const std::string&>();
      pieces.put(text, std::stoll(id));
      control.insert(text);
    }
  }
  if (!folder.has("added_tokens.json")) return;
  const Json tokens = folder.object_of("added_tokens.json");
  for (const auto& [text, id] : tokens.items()) {
    if (!id.is_number_integer())
      core::fail(ErrorCode::kBadInput, "{}: {}: must be an id", folder.file("added_tokens.json").string(), quote(text));
    pieces.put(text, id.get<std::int64_t>());
    control.insert(text);
  }
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The special tokens that special_tokens_map.json or tokenizer_config.json list beside the usual ones.
std::vector<std::string> additional_tokens(const HuggingFaceFolder& folder) {
  std::vector<std::string> tokens;
  Json map = Json::object();
  if (folder.has("special_tokens_map.json")) map = folder.object_of("special_tokens_map.json");
  for (const Json* object : {static_cast<const Json*>(&map), &folder.tokenizer}) {
    const auto list = object->find("additional_special_tokens");
    if (list == object->end() || !list->is_array() || !tokens.empty()) continue;
    for (const Json& token : *list) {
      if (token.is_string()) tokens.push_back(token.get<std::string>());
      if (token.is_object()) tokens.push_back(text_of(token, "content"));
    }
  }
  return tokens;
}

/// "de_DE", "deu_Latn": what the tags of languages look like in mBART's and NLLB's vocabularies.
bool is_language_code(std::string_view text) {
  const auto within = [](std::string_view part, char first, char last) {
    return !part.empty() && std::ranges::all_of(part, [=](char c) { return c >= first && c <= last; });
  };
  const std::size_t bar = text.find('_');
  if (bar == std::string_view::npos || (bar != 2 && bar != 3)) return false;
  const std::string_view script = text.substr(bar + 1);
  return within(text.substr(0, bar), 'a', 'z') &&
         (within(script, 'A', 'Z') || (script.size() == 4 && within(script.substr(1), 'a', 'z')));
}

/// The code that a tag of M2M-100 ("__de__") or of OPUS-MT (">>deu<<") stands for; empty: it is none.
std::string_view code_within(std::string_view text, std::string_view before, std::string_view behind) {
  if (text.size() <= before.size() + behind.size() || !text.starts_with(before) || !text.ends_with(behind)) return {};
  return text.substr(before.size(), text.size() - before.size() - behind.size());
}

/// The language that a folder names for a side, if it has it.
std::string usual_language(const HuggingFaceFolder& folder, const char* key, const formats::LanguageTable& table) {
  const std::string language = text_of(folder.tokenizer, key);
  return table.find(language) != nullptr ? language : std::string();
}

class TokenizerReader {
 public:
  TokenizerReader(const HuggingFaceFolder& folder, const HuggingFaceArchitecture& architecture)
      : folder_(folder), architecture_(architecture) {}

  HuggingFaceTokenizers read() {
    switch (architecture_.family) {
      case Family::kMarian:
        if (folder_.has("vocab.json"))
          read_marian();
        else
          read_as_they_are();
        break;
      case Family::kPegasus:
        if (folder_.has(kPegasusPieces))
          read_pegasus();
        else
          read_as_they_are();
        break;
      case Family::kBart:
        read_bart();
        break;
      case Family::kMBart:
      case Family::kM2M100:
        if (folder_.has("vocab.json"))
          read_m2m();
        else
          read_moved();
        break;
    }
    force_first_token();
    return std::move(read_);
  }

 private:
  const nn::SequenceSpec& sequences() const { return architecture_.sequences; }

  /// Ids that the configuration has for special tokens are control pieces, whatever their texts. Padding is of the
  /// sources' vocabulary, and the decoder's first input of the targets'.
  void add_special(const PieceList& pieces, bool source, bool target, std::unordered_set<std::string>& control) const {
    std::vector<std::int32_t> ids{sequences().begin, sequences().end};
    if (source) ids.push_back(architecture_.padding);
    if (target) ids.push_back(sequences().decoder_start);
    for (const std::int32_t id : ids)
      if (id < pieces.size()) control.insert(pieces.text(id));
    if (pieces.find("<pad>")) control.insert("<pad>");
    control.erase("");
    control.erase("<unk>");
  }

  formats::TokenizerContent marian_side(const char* model, const PieceList& pieces, bool source, bool target) {
    std::unordered_set<std::string> control;
    add_special(pieces, source, target, control);
    for (std::int64_t id = 0; id < pieces.size(); ++id)
      if (!code_within(pieces.text(id), ">>", "<<").empty()) control.insert(pieces.text(id));
    return renumbered(folder_.file(model), pieces.listed(control, pieces.get("<unk>")));
  }

  /// A SentencePiece model for each side, and a list of pieces for both or for each.
  void read_marian() {
    const auto source = read_vocabulary(folder_, "vocab.json", sequences().source_vocabulary);
    read_.unknown = source.get("<unk>");
    const bool separate = folder_.has("target_vocab.json");
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

  /// The pieces of a SentencePiece model behind the special tokens of the training by gaps: PegasusTokenizer.
  void read_pegasus() {
    constexpr std::int64_t kOffset = 103;
    const std::string name = folder_.file(kPegasusPieces).string();
    const auto model =
        tokenizer::sentencepiece_pieces(core::read_regular_file(folder_.file(kPegasusPieces), kLongestModel), name);
    PieceList pieces(sequences().source_vocabulary, name);
    std::unordered_set<std::string> control;
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
    // The first two of the model are the padding and the end.
    for (std::size_t i = 2; i < model.size(); ++i)
      pieces.put_if_free(model[i].text, static_cast<std::int64_t>(i) + offset);
    add_special(pieces, true, true, control);
    read_.unknown = pieces.get("<unk>");
    read_.joint = renumbered(folder_.file(kPegasusPieces), pieces.listed(control, read_.unknown));
  }

  /// Tokenizers whose ids are the model's, as `convert --to huggingface` copies them, and transformers since version 5.
  void read_as_they_are() {
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
      // A SentencePiece model of ours may have pieces behind those that the model knows, as OPUS-MT's have.
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

  /// Of GPT-2's vocabularies every piece is a byte, a token in angles or made by a merge; fairseq has filled BART's up
  /// with made-up words. A list of merges that was cut would go unseen: texts fall into smaller pieces, and pieces that
  /// no merge makes are taken for tokens of their own.
  void require_all_merges(const tokenizer::BpeDefinition& definition) const {
    std::vector<bool> made(definition.pieces.size());
    for (const tokenizer::Merge& merge : definition.merges) made[static_cast<std::size_t>(merge.result)] = true;
    for (std::size_t id = 0; id < made.size(); ++id) {
      const std::string& piece = definition.pieces[id];
      const bool is_byte = piece.size() == core::utf8_length(static_cast<unsigned char>(piece.front()));
      const bool is_token = (piece.starts_with('<') && piece.ends_with('>')) || piece.starts_with("madeupword");
      if (made[id] || is_byte || is_token) continue;
      core::fail(ErrorCode::kBadInput,
                 "{}: no merge makes the piece {} of vocab.json; the file is cut or another model's, get it again",
                 folder_.file("merges.txt").string(), quote(piece));
    }
  }

  /// GPT-2's tokenizer, and <s> around everything.
  void read_bart() {
    const std::string name = folder_.file("vocab.json").string();
    tokenizer::BpeDefinition definition = tokenizer::read_tokenizer_file(
        folder_.has("tokenizer.json") ? folder_.file("tokenizer.json") : folder_.file("vocab.json"));
    const auto id_of = [&](const char* text) -> std::optional<std::int32_t> {
      const auto found = std::ranges::find(definition.pieces, text);
      if (found == definition.pieces.end()) return std::nullopt;
      return static_cast<std::int32_t>(found - definition.pieces.begin());
    };
    for (const char* text : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}) {
      const auto id = id_of(text);
      if (id &&
          std::ranges::find(definition.added_tokens, *id, &tokenizer::AddedToken::id) == definition.added_tokens.end())
        definition.added_tokens.push_back({.id = *id, .special = true});
    }
    if (!folder_.has("tokenizer.json")) require_all_merges(definition);
    const auto unknown = id_of("<unk>");
    core::require(unknown.has_value(), ErrorCode::kBadInput, "{}: there is no piece <unk>", name);
    read_.unknown = *unknown;
    read_.joint = {.content = tokenizer::BpeTokenizer(definition, name).to_json()};
    read_.languages.always.source_prefix = {sequences().begin};
  }

  /// The pieces of a SentencePiece model as a list beside it has them, and tags of languages behind.
  void read_m2m() {
    PieceList pieces = read_vocabulary(folder_, "vocab.json", sequences().source_vocabulary);
    std::int64_t next = 0;
    for (std::int64_t id = 0; id < pieces.size(); ++id)
      if (!pieces.text(id).empty()) next = id + 1;
    for (const std::string_view code : language_codes(LanguageCodes::kM2M100))
      pieces.put_if_free(fmt::format("__{}__", code), next++);
    std::unordered_set<std::string> control;
    put_added_tokens(folder_, pieces, control);
    for (std::int64_t id = 0; id < pieces.size(); ++id) {
      const std::string_view code = code_within(pieces.text(id), "__", "__");
      if (code.empty()) continue;
      control.insert(pieces.text(id));
      add_language(std::string(code), static_cast<std::int32_t>(id), false);
    }
    finish_joint(pieces, control);
  }

  /// fairseq's ids of a SentencePiece model: four special tokens, its pieces but for the first three, tags.
  void read_moved() {
    const std::string name = folder_.file(kPieceModel).string();
    const auto model =
        tokenizer::sentencepiece_pieces(core::read_regular_file(folder_.file(kPieceModel), kLongestModel), name);
    PieceList pieces(sequences().source_vocabulary, name);
    std::unordered_set<std::string> control;
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

  /// Whether the tag of the source's language stands behind its end, as in models before mBART-50 and, as it was first
  /// published, NLLB.
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

  void finish_joint(const PieceList& pieces, std::unordered_set<std::string>& control) {
    add_special(pieces, true, true, control);
    read_.unknown = pieces.get("<unk>");
    read_.joint = renumbered(folder_.file(kPieceModel), pieces.listed(control, read_.unknown));
    read_.languages.source_language = usual_language(folder_, "src_lang", read_.languages);
    read_.languages.target_language = usual_language(folder_, "tgt_lang", read_.languages);
  }

  /// forced_bos_token_id: a language, which is the target's default, or else a token of every translation.
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
