#include "lines/line_encoder.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {

using core::ErrorCode;
using core::require;

namespace {

constexpr std::size_t kIdSlot = 8;
constexpr std::size_t kPieceSlot = 16;

}  // namespace

std::string piece_in_lines(std::string_view piece) {
  std::string text;
  for (const char c : piece) text.append(c == ' ' ? std::string_view(kWordMark) : std::string_view(&c, 1));
  return text;
}

SpacedPieces pieces_with_spaces(const Tokenizer& tokenizer) {
  SpacedPieces spaced;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string_view piece = tokenizer.piece(id);
    const auto check = [&](bool condition, std::string_view what) {
      require(condition, ErrorCode::kUnsupported,
              "the piece {} of this tokenizer {}, so that a line of pieces could not be read back; use ids", id, what);
    };
    check(piece.find('\n') == std::string_view::npos, "holds a line feed");
    if (piece.find(' ') == std::string_view::npos) continue;
    const std::string written = piece_in_lines(piece);
    check(!tokenizer.id(written) && spaced.emplace(written, id).second,
          "holds a space, and with U+2581 in its place looks like another");
  }
  return spaced;
}

std::int32_t id_of_text_without_piece(const Tokenizer& tokenizer) {
  constexpr const char* kNowhere = "\U0010FFFE";  // not a character, so it is in no vocabulary
  try {
    const std::vector<std::string> pieces = tokenizer.encode_as_text(kNowhere);
    const std::vector<std::int32_t> ids = tokenizer.encode(kNowhere);
    for (std::size_t i = 0; i < std::min(pieces.size(), ids.size()); ++i)
      if (!tokenizer.id(pieces[i])) return ids[i];
  } catch (const core::Error&) {
    return -1;  // it has no unknown token, or encodes nothing
  }
  return -1;
}

std::string continuation_mark(const Tokenizer& tokenizer) {
  const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer);
  const auto* text = bpe == nullptr ? nullptr : std::get_if<SuffixedText>(&bpe->definition().text);
  return std::string(text == nullptr ? "" : text->continuation_mark());
}

void append_continued_piece(const BpeTokenizer& tokenizer, const Piece& piece, std::string_view text,
                            std::string& out) {
  const BpeDefinition& definition = tokenizer.definition();
  const auto& words = std::get<SuffixedText>(definition.text);
  const bool unknown = piece.id == definition.unknown;
  out.append(unknown ? text.substr(piece.begin, piece.end - piece.begin) : tokenizer.piece(piece.id));
  if (unknown && piece.end < text.size() && text[piece.end] != ' ') out.append(words.continuation_mark());
}

std::string join_continued(std::string_view line, std::string_view mark) {
  const std::string joint = std::string(mark) + " ";
  std::string text;
  for (std::size_t match = line.find(joint); match != std::string_view::npos; match = line.find(joint)) {
    text.append(line.substr(0, match));
    line.remove_prefix(match + joint.size());
  }
  if (line.ends_with(mark)) line.remove_suffix(mark.size());
  return text.append(line);
}

IdTexts::IdTexts(const Tokenizer& tokenizer, LineFormat format)
    : slot_(format == LineFormat::kIds ? kIdSlot : kPieceSlot),
      slots_(slot_ * static_cast<std::size_t>(tokenizer.size())) {
  for (std::int32_t id = 0; id < tokenizer.size(); ++id)
    set(slots_.data() + slot_ * static_cast<std::size_t>(id),
        (format == LineFormat::kIds ? std::to_string(id) : piece_in_lines(tokenizer.piece(id))) + ' ');
}

void IdTexts::set(char* slot, const std::string& text) {
  if (text.size() < slot_) {
    text.copy(slot, text.size());
    slot[slot_ - 1] = static_cast<char>(text.size());
    return;
  }
  const auto place = static_cast<std::uint32_t>(long_texts_.size());
  std::memcpy(slot, &place, sizeof place);
  slot[slot_ - 1] = static_cast<char>(kLong);
  long_texts_.push_back(text);
}

void IdTexts::append(std::span<const std::int32_t> ids, std::string& out) const {
  // Slots are several times as large as most texts, so a long line is appended in parts.
  constexpr std::size_t kAtOnce = std::size_t{1} << 16;
  const bool any = !ids.empty();
  for (; !ids.empty(); ids = ids.subspan(std::min(ids.size(), kAtOnce))) {
    const auto part = ids.first(std::min(ids.size(), kAtOnce));
    if (slot_ == kIdSlot)
      append_slots<kIdSlot>(part, out);
    else
      append_slots<kPieceSlot>(part, out);
  }
  if (any)
    out.back() = '\n';  // in place of the last space
  else
    out += '\n';
}

template <std::size_t kSlot>
void IdTexts::append_slots(std::span<const std::int32_t> ids, std::string& out) const {
  std::size_t end = out.size();
  out.resize(end + ids.size() * kSlot);
  char* to = out.data();
  const char* slots = slots_.data();
  for (const std::int32_t id : ids) {
    const char* slot = slots + kSlot * static_cast<std::size_t>(id);
    const auto size = static_cast<std::uint8_t>(slot[kSlot - 1]);
    if (size != kLong) {
      std::memcpy(to + end, slot, kSlot);  // surplus bytes are overwritten
      end += size;
    } else {
      std::uint32_t place;
      std::memcpy(&place, slot, sizeof place);
      const std::string& text = long_texts_[place];
      out.resize(out.size() + text.size());
      to = out.data();
      text.copy(to + end, text.size());
      end += text.size();
    }
  }
  out.resize(end);
}

LineEncoding::LineEncoding(const Tokenizer& t, const LineCodingOptions& o)
    : tokenizer(t),
      options(o),
      mark(o.format == LineFormat::kPieces ? continuation_mark(t) : std::string()),
      texts(t, o.format) {
  if (o.format == LineFormat::kPieces) pieces_with_spaces(t);  // throws if lines cannot represent a piece
  if (o.format == LineFormat::kPieces && mark.empty()) unknown = id_of_text_without_piece(t);
  const bool plain = !o.reverse && o.in_front.empty() && o.behind.empty() && o.n_best == 0;
  require(plain || mark.empty(), ErrorCode::kUnsupported,
          "lines of codes are text with marks: they have no n best segmentations, begin, end or other order; use ids");
  require(o.n_best == 0 || o.format != LineFormat::kJson, ErrorCode::kUnsupported,
          "n best segmentations are JSON already, without offsets; write pieces or ids");
  require(!o.reverse || o.format != LineFormat::kJson, ErrorCode::kUnsupported,
          "offsets go with the order of the text; leave out that it is turned round");
  require(o.n_best == 0 || !o.encode.match_special_tokens, ErrorCode::kUnsupported,
          "n best segmentations are those of plain text; special tokens in it cannot be matched");
}

void LineEncoder::append(std::string_view line, std::uint64_t number, std::string& out) {
  if (!encoding_->mark.empty()) return append_continued(line, number, out);
  if (encoding_->options.n_best > 0) return append_n_best(line, out);
  if (encoding_->options.format == LineFormat::kJson) return append_json(line, number, out);
  ids_.clear();
  encoder_->encode(line, number, ids_);
  if (has_text(ids_)) return append_with_text(line, number, out);
  encoding_->texts.append(dressed(ids_), out);
}

bool LineEncoder::has_text(std::span<const std::int32_t> ids) const {
  return encoding_->unknown >= 0 && std::ranges::find(ids, encoding_->unknown) != ids.end();
}

/// Handles the few lines that contain text without a piece. If that text could not be decoded, the unknown piece
/// replaces it.
void LineEncoder::append_with_text(std::string_view line, std::uint64_t number, std::string& out) const {
  const LineCodingOptions& options = encoding_->options;
  EncodeOptions encode = options.encode;
  encode.line = number;
  std::vector<std::string> pieces = encoding_->tokenizer.encode_as_text(line, encode);
  for (std::string& piece : pieces)
    if (encoding_->tokenizer.id(piece))
      piece = piece_in_lines(piece);
    else if (piece.empty() || piece.find_first_of(" \n") != std::string::npos)
      piece = encoding_->tokenizer.piece(encoding_->unknown);
  if (options.reverse) std::ranges::reverse(pieces);
  const auto named = [&](const std::vector<std::int32_t>& ids) {
    std::vector<std::string> names;
    for (const std::int32_t id : ids) names.push_back(piece_in_lines(encoding_->tokenizer.piece(id)));
    return names;
  };
  const std::vector<std::string> in_front = named(options.in_front);
  const std::vector<std::string> behind = named(options.behind);
  pieces.insert(pieces.begin(), in_front.begin(), in_front.end());
  pieces.insert(pieces.end(), behind.begin(), behind.end());
  fmt::format_to(std::back_inserter(out), "{}\n", fmt::join(pieces, " "));
}

/// Returns the ids, reversed if requested, with the additional ids before and after them.
std::span<const std::int32_t> LineEncoder::dressed(std::span<const std::int32_t> ids) {
  const LineCodingOptions& options = encoding_->options;
  if (!options.reverse && options.in_front.empty() && options.behind.empty()) return ids;
  dressed_ = options.in_front;
  if (options.reverse)
    dressed_.insert(dressed_.end(), ids.rbegin(), ids.rend());
  else
    dressed_.insert(dressed_.end(), ids.begin(), ids.end());
  dressed_.insert(dressed_.end(), options.behind.begin(), options.behind.end());
  return dressed_;
}

void LineEncoder::append_n_best(std::string_view line, std::string& out) const {
  const LineCodingOptions& options = encoding_->options;
  core::Json list = core::Json::array();
  for (const Segmentation& each : encoding_->tokenizer.encode_n_best(line, options.n_best)) {
    core::Json row;
    std::vector<std::int32_t> ids = each.ids;
    if (options.reverse) std::ranges::reverse(ids);
    ids.insert(ids.begin(), options.in_front.begin(), options.in_front.end());
    ids.insert(ids.end(), options.behind.begin(), options.behind.end());
    core::Json& shown = row[options.format == LineFormat::kIds ? "ids" : "pieces"] = core::Json::array();
    for (const std::int32_t id : ids)
      if (options.format == LineFormat::kIds)
        shown.push_back(id);
      else
        shown.push_back(std::string(encoding_->tokenizer.piece(id)));
    row["score"] = each.score;
    list.push_back(std::move(row));
  }
  core::Json object;
  object["n_best"] = std::move(list);
  out.append(object.dump()) += '\n';
}

void LineEncoder::append_json(std::string_view line, std::uint64_t number, std::string& out) const {
  const LineCodingOptions& options = encoding_->options;
  EncodeOptions encode = options.encode;
  encode.line = number;
  core::Json pieces = core::Json::array(), ids = core::Json::array(), offsets = core::Json::array();
  const auto add = [&](const Piece& piece) {
    pieces.push_back(std::string(encoding_->tokenizer.piece(piece.id)));
    ids.push_back(piece.id);
    offsets.push_back({piece.begin, piece.end});
  };
  for (const std::int32_t id : options.in_front) add({id, 0, 0});
  for (const Piece& piece : encoding_->tokenizer.encode_pieces(line, encode)) add(piece);
  for (const std::int32_t id : options.behind) add({id, line.size(), line.size()});
  core::Json object;
  object["pieces"] = std::move(pieces);
  object["ids"] = std::move(ids);
  object["offsets"] = std::move(offsets);
  out.append(object.dump()) += '\n';
}

void LineEncoder::append_all(std::span<const std::string_view> lines, std::uint64_t number, std::string& out) {
  constexpr std::size_t kLines = 64;  // small enough that their ids stay in a cache
  if (!encoding_->mark.empty()) {
    for (const std::string_view line : lines) append_continued(line, number++, out);
    return;
  }
  if (encoding_->options.n_best > 0 || encoding_->options.format == LineFormat::kJson) {
    for (const std::string_view line : lines) append(line, number++, out);
    return;
  }
  for (std::size_t first = 0; first < lines.size(); first += kLines) {
    encoded_.clear();
    encoder_->encode_all(lines.subspan(first, std::min(kLines, lines.size() - first)), number + first, encoded_);
    for (std::size_t i = 0; i < encoded_.size(); ++i)
      if (has_text(encoded_[i]))
        append_with_text(lines[first + i], number + first + i, out);
      else
        encoding_->texts.append(dressed(encoded_[i]), out);
  }
}

/// Whitespace at both ends is kept, as in subword-nmt.
void LineEncoder::append_continued(std::string_view line, std::uint64_t number, std::string& out) const {
  constexpr std::string_view kSpace = " \r";
  const std::size_t begin = std::min(line.find_first_not_of(kSpace), line.size());
  const std::size_t end = line.find_last_not_of(kSpace) + 1;
  out.append(line.substr(0, begin));
  const std::string_view text = begin < end ? line.substr(begin, end - begin) : std::string_view();
  EncodeOptions options = encoding_->options.encode;
  options.line = number;
  const auto& tokenizer = static_cast<const BpeTokenizer&>(encoding_->tokenizer);
  std::string_view space;
  for (const Piece& piece : tokenizer.encode_pieces(text, options)) {
    out.append(space);
    space = " ";
    append_continued_piece(tokenizer, piece, text, out);
  }
  if (begin < end) out.append(line.substr(end));
  out += '\n';
}

}  // namespace dragoman::tokenizer
