#include "dragoman/tokenizer/sentencepiece_ids.h"

#include "sentencepiece/protobuf_wire.h"
#include "sentencepiece/sentencepiece_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;
using Model = SentencePieceModel;
using namespace model_fields;
using StoredPiece = Model::Piece;
using Texts = core::TextViewSet;
using PlaceByText = core::TextViewMap<std::size_t>;

/// The field numbers in trainer_spec for a special piece: its id, and its text.
struct SpecialFields {
  std::uint32_t id;
  std::uint32_t text;
};
constexpr std::array<SpecialFields, 4> kSpecialFields = {{{40, 45}, {41, 46}, {42, 47}, {43, 48}}};

using SpecialIds = std::array<std::optional<std::int32_t>, kSpecialFields.size()>;

PlaceByText index_list(const RenumberedPieces& list, const std::string& name) {
  require(list.pieces.size() <= std::size_t{std::numeric_limits<std::int32_t>::max()}, ErrorCode::kBadInput,
          "{}: a list of {} pieces is too long", name, list.pieces.size());
  PlaceByText places;
  for (std::size_t id = 0; id < list.pieces.size(); ++id) {
    const std::string& text = list.pieces[id].text;
    require(!text.empty(), ErrorCode::kBadInput, "{}: the listed piece {} is empty", name, id);
    require(core::find_invalid_utf8(text) == std::string::npos, ErrorCode::kBadInput,
            "{}: the listed piece {} is not valid UTF-8", name, id);
    const auto [place, added] = places.emplace(text, id);
    if (!added)
      core::fail(ErrorCode::kBadInput, "{}: {} is listed twice, as {} and {}; a model needs different texts", name,
                 Quoted{text}, place->second, id);
  }
  return places;
}

std::int32_t find_unknown(const RenumberedPieces& list, const Model& model, const PlaceByText& places,
                          const std::string& name) {
  if (list.unknown) return *list.unknown;
  const auto own = std::ranges::find(model.pieces, std::uint64_t{Model::kUnknown}, &StoredPiece::type);
  require(own != model.pieces.end(), ErrorCode::kBadInput, "{}: no unknown piece", name);
  const auto found = places.find(own->text);
  if (found == places.end())
    core::fail(ErrorCode::kBadInput,
               "{}: the list lacks {}, the model's unknown piece; say which piece is the unknown one", name,
               Quoted{own->text});
  return static_cast<std::int32_t>(found->second);
}

SpecialIds special_ids(const RenumberedPieces& list, std::int32_t unknown, const std::string& name) {
  const SpecialIds ids = {unknown, list.begin, list.end, list.padding};
  for (const auto& id : ids)
    require(!id || (*id >= 0 && static_cast<std::size_t>(*id) < list.pieces.size()), ErrorCode::kBadInput,
            "{}: the special piece {} is beyond the list of {} pieces", name, id.value_or(0), list.pieces.size());
  return ids;
}

/// The texts that the merges of a BPE model can produce: it joins neighbours that are characters or pieces.
class MergeableTexts {
 public:
  explicit MergeableTexts(const Model& model) {
    for (const StoredPiece& piece : model.pieces)
      if (piece.type == Model::kNormal || piece.type == Model::kUnused) texts_.insert(piece.text);
  }
  void add(std::string_view text) { texts_.insert(text); }
  bool can_be_made(std::string_view text) const {
    for (std::size_t cut = core::decode_utf8(text, 0).length; cut < text.size();
         cut += core::decode_utf8(text, cut).length)
      if (is_neighbour(text.substr(0, cut)) && is_neighbour(text.substr(cut))) return true;
    return false;
  }

 private:
  bool is_neighbour(std::string_view text) const {
    return core::decode_utf8(text, 0).length == text.size() || texts_.contains(text);
  }
  Texts texts_;
};

/// Returns whether texts may be segmented differently without the piece.
bool takes_part(const StoredPiece& piece, const Model& model) {
  switch (piece.type) {
    case Model::kNormal:
    case Model::kUserDefined:
    case Model::kByte:
      return true;
    case Model::kUnused:
      return model.model_type == Model::kBpe;
    default:
      return false;
  }
}

float least_score(const Model& model) {
  float least = 0;
  for (const StoredPiece& piece : model.pieces) least = std::min(least, piece.score);
  return least;
}

class Renumbering {
 public:
  Renumbering(Model model, const RenumberedPieces& list, const std::string& name)
      : model_(std::move(model)),
        list_(list),
        places_(index_list(list, name)),
        special_(special_ids(list, find_unknown(list, model_, places_, name), name)) {}

  void run(RenumberedModel& result) {
    take_listed();
    fill_lacking(result);
    set_types();
    result.beyond = append_beyond();
  }

  const std::vector<StoredPiece>& pieces() const { return pieces_; }
  const SpecialIds& special() const { return special_; }

 private:
  bool is_special(std::size_t id) const {
    return std::ranges::find(special_, std::optional(static_cast<std::int32_t>(id))) != special_.end();
  }

  void take_listed() {
    pieces_.resize(list_.pieces.size());
    known_.resize(list_.pieces.size());
    for (const StoredPiece& piece : model_.pieces) {
      const auto found = places_.find(piece.text);
      if (found == places_.end()) continue;
      pieces_[found->second] = piece;
      known_[found->second] = true;
    }
  }

  /// Adds the missing pieces, shorter ones first, since longer ones may consist of them. Scores are distinct and below
  /// all others, because they are ranks.
  void fill_lacking(RenumberedModel& result) {
    std::vector<std::size_t> lacking;
    for (std::size_t id = 0; id < pieces_.size(); ++id)
      if (!known_[id]) lacking.push_back(id);
    std::ranges::stable_sort(lacking, std::less<>(), [&](std::size_t id) { return list_.pieces[id].text.size(); });
    const bool merges = model_.model_type == Model::kBpe;
    MergeableTexts mergeable(model_);
    float score = least_score(model_);
    for (const std::size_t id : lacking) {
      const std::string& text = list_.pieces[id].text;
      StoredPiece& piece = pieces_[id] = {text, 0, Model::kUnused};
      const bool decided = list_.pieces[id].type.has_value() || is_special(id);
      if (!is_special(id)) ++result.lacking;
      if (!merges || decided) continue;
      if (mergeable.can_be_made(text)) {
        piece.type = Model::kControl;
      } else {
        mergeable.add(text);
        piece.score = score = std::min(score - 1, std::nextafter(score, -std::numeric_limits<float>::infinity()));
      }
    }
  }

  void set_types() {
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
      StoredPiece& piece = pieces_[id];
      if (list_.pieces[id].type) piece.type = static_cast<std::uint64_t>(*list_.pieces[id].type);
      // A model has one unknown piece, regardless of its previous types.
      if (piece.type == Model::kUnknown || (is_special(id) && !list_.pieces[id].type)) piece.type = Model::kControl;
    }
    pieces_[static_cast<std::size_t>(*special_[0])].type = Model::kUnknown;
  }

  std::size_t append_beyond() {
    std::size_t count = 0;
    for (const StoredPiece& piece : model_.pieces) {
      if (places_.contains(piece.text) || !takes_part(piece, model_)) continue;
      pieces_.push_back(piece);
      ++count;
    }
    return count;
  }

  Model model_;
  const RenumberedPieces& list_;
  PlaceByText places_;
  SpecialIds special_;  // unknown, begin, end, padding
  std::vector<StoredPiece> pieces_;
  std::vector<bool> known_;
};

bool names_special_piece(std::uint32_t field) {
  return std::ranges::any_of(
      kSpecialFields, [&](const SpecialFields& special) { return field == special.id || field == special.text; });
}

std::string renumbered_trainer(std::string_view message, const Renumbering& renumbering, const std::string& where) {
  WireWriter trainer;
  WireReader reader(message, where);
  for (WireField field; reader.next(field);)
    if (field.number != kVocabularySize && !names_special_piece(field.number)) trainer.copy(field);
  trainer.varint(kVocabularySize, renumbering.pieces().size());
  constexpr auto kNone = ~std::uint64_t{0};  // -1, the library's value for "none"
  for (std::size_t i = 0; i < kSpecialFields.size(); ++i) {
    const auto id = renumbering.special()[i];
    trainer.varint(kSpecialFields[i].id, id ? static_cast<std::uint64_t>(*id) : kNone);
    if (id) trainer.bytes(kSpecialFields[i].text, renumbering.pieces()[static_cast<std::size_t>(*id)].text);
  }
  return trainer.message();
}

Model parse_supported(std::string_view bytes, const std::string& name) {
  Model model = parse_sentencepiece_model(bytes, name);
  require(model.model_type == Model::kBpe || model.model_type == Model::kUnigram, ErrorCode::kUnsupported,
          "{}: a SentencePiece model of the type {}; bpe and unigram are supported", name,
          name_of_model_type(model.model_type));
  for (std::size_t id = 0; id < model.pieces.size(); ++id)
    require(model.pieces[id].type >= Model::kNormal && model.pieces[id].type <= Model::kByte, ErrorCode::kBadInput,
            "{}: piece {} has the unknown type {}", name, id, model.pieces[id].type);
  return model;
}

}  // namespace

RenumberedModel renumber_sentencepiece(std::string_view bytes, const RenumberedPieces& list, const std::string& name) {
  Renumbering renumbering(parse_supported(bytes, name), list, name);
  RenumberedModel result;
  renumbering.run(result);
  WireWriter file;
  for (const StoredPiece& piece : renumbering.pieces()) write_piece(piece, file);
  std::string_view trainer;
  WireReader reader(bytes, name);
  for (WireField field; reader.next(field);) {
    if (field.number == kTrainer) trainer = field.bytes;
    if (field.number != kTrainer && field.number != kPieces) file.copy(field);
  }
  file.bytes(kTrainer, renumbered_trainer(trainer, renumbering, name + ": trainer_spec"));
  result.model = file.message();
  return result;
}

std::vector<UnigramPiece> sentencepiece_pieces(std::string_view bytes, const std::string& name) {
  std::vector<UnigramPiece> pieces;
  for (StoredPiece& piece : parse_supported(bytes, name).pieces)
    pieces.push_back({std::move(piece.text), piece.score, static_cast<UnigramPiece::Type>(piece.type)});
  return pieces;
}

}  // namespace dragoman::tokenizer
