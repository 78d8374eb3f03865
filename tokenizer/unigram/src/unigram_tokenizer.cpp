#include "dragoman/tokenizer/unigram_tokenizer.h"

#include "decoding/bpe_streaming_decoder.h"
#include "decoding/sentencepiece_decoder.h"
#include "normalizing/sentencepiece_normalizer.h"
#include "unigram_model.h"

#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;
using Type = UnigramPiece::Type;

std::vector<std::string> parts_of(const UnigramDefinition& definition) {
  std::vector<std::string> texts;
  for (const UnigramPiece& piece : definition.pieces) texts.push_back(piece.text);
  return texts;
}

std::vector<std::string_view> texts_of_type(const UnigramDefinition& definition, Type type) {
  std::vector<std::string_view> texts;
  for (const UnigramPiece& piece : definition.pieces)
    if (piece.type == type) texts.emplace_back(piece.text);
  return texts;
}

SentencePieceNormalization normalization_of(const UnigramDefinition& definition) {
  return {.character_map = definition.character_map,
          .dummy_prefix = definition.dummy_prefix,
          .remove_extra_spaces = definition.remove_extra_spaces,
          .escape_spaces = definition.escape_spaces,
          .space_as_suffix = definition.space_as_suffix};
}

bool is_special_type(Type type) {
  return type == Type::kUnknown || type == Type::kControl;
}

Trie special_pieces(const UnigramDefinition& definition) {
  std::vector<Trie::Entry> entries;
  for (std::size_t id = 0; id < definition.pieces.size(); ++id)
    if (is_special_type(definition.pieces[id].type))
      entries.emplace_back(definition.pieces[id].text, static_cast<std::int32_t>(id));
  return Trie(std::move(entries));
}

std::vector<DecodedPiece> decoded_pieces(const UnigramDefinition& definition) {
  using Kind = DecodedPiece::Kind;
  std::vector<DecodedPiece> decoded;
  for (const UnigramPiece& piece : definition.pieces) {
    if (piece.type == Type::kByte)
      decoded.push_back({.kind = Kind::kByte, .byte = static_cast<char>(byte_of_piece(piece.text).value_or(0))});
    else if (is_special_type(piece.type))
      decoded.push_back({.kind = Kind::kSurface,
                         .text = piece.type == Type::kUnknown ? std::string_view(definition.unknown_surface) : ""});
    else
      decoded.push_back({.text = piece.text});
  }
  return decoded;
}

void check(const EncodeOptions& options) {
  require(options.mode == EncodingMode::kExact || options.mode == EncodingMode::kSample, ErrorCode::kUnsupported,
          "a unigram model has no merges, so only the modes exact (the most probable pieces) and sample are supported");
  if (options.mode != EncodingMode::kSample) return;
  require(options.alpha >= 0 && std::isfinite(options.alpha), ErrorCode::kInvalidArgument,
          "the exponent of probabilities is {}; it must be 0 or more", options.alpha);
  require(options.n_best >= 0, ErrorCode::kInvalidArgument,
          "segmentations are to be drawn from the {} best ones; it must be 0 (all) or more", options.n_best);
}

void check_n_best(std::int32_t most) {
  require(most > 0, ErrorCode::kInvalidArgument, "the {} best segmentations were asked for; it must be 1 or more",
          most);
}

struct Buffers {
  AlignedText normal;
  UnigramBuffers unigram;
};

}  // namespace

struct UnigramTokenizer::Impl {
  Impl(UnigramDefinition d, const std::string& name)
      : definition(std::move(d)),
        texts(parts_of(definition)),
        model(definition, texts, name),
        normalizer(normalization_of(definition), texts_of_type(definition, Type::kUserDefined), name),
        special(special_pieces(definition)),
        decoded(decoded_pieces(definition)) {
    require(core::find_invalid_utf8(definition.unknown_surface) == std::string::npos, ErrorCode::kBadInput,
            "{}: what the unknown piece decodes to is not valid UTF-8", name);
  }

  const UnigramPiece& at(std::int32_t id) const {
    check_id(id, static_cast<std::int32_t>(definition.pieces.size()));
    return definition.pieces[static_cast<std::size_t>(id)];
  }

  enum class Offsets { kNone, kOfText, kOfNormalText };

  /// Calls visit(id, begin, end) for each piece of the text. A matched special piece has no normalised text.
  template <class Visitor>
  void for_each_piece(std::string_view text, const EncodeOptions& options, Offsets offsets, Buffers& buffers,
                      Visitor&& visit) const {
    buffers.unigram.draws = 0;
    if (!options.match_special_tokens) return encode_stretch(text, 0, options, offsets, buffers, visit);
    std::size_t begin = 0;
    core::StopCheck check_stop("encoding a text");
    for (std::size_t at = 0; at < text.size();) {
      check_stop();
      const Trie::Match match = special.longest_prefix(text.substr(at));
      if (match.value < 0) {
        ++at;
        continue;
      }
      encode_stretch(text.substr(begin, at - begin), begin, options, offsets, buffers, visit);
      const bool of_text = offsets == Offsets::kOfText;
      visit(match.value, of_text ? at : 0, of_text ? at + match.length : 0);
      begin = at += match.length;
    }
    encode_stretch(text.substr(begin), begin, options, offsets, buffers, visit);
  }

  template <class Visitor>
  void encode_stretch(std::string_view text, std::size_t begin, const EncodeOptions& options, Offsets offsets,
                      Buffers& buffers, Visitor&& visit) const {
    normalizer.apply(text, begin, offsets == Offsets::kOfText, buffers.normal);
    segment(options, buffers);
    visit_segments(buffers, offsets, visit);
  }

  /// Computes the segments of the normalised text.
  void segment(const EncodeOptions& options, Buffers& buffers) const {
    const std::string& text = buffers.normal.text;
    if (options.mode != EncodingMode::kSample) return model.segment(text, buffers.unigram);
    if (options.n_best == 0) return model.sample(text, {options.alpha, options.seed, options.line}, buffers.unigram);
    draw_from_best(model.n_best(text, static_cast<std::size_t>(options.n_best)), options, buffers.unigram);
  }

  static void draw_from_best(std::vector<ScoredSegments> best, const EncodeOptions& options, UnigramBuffers& buffers) {
    std::vector<double> weights;
    double total = 0;
    for (const ScoredSegments& each : best)
      total += weights.emplace_back(std::exp(options.alpha * (each.score - best.front().score)));
    double left = total * core::random_uniform(options.seed, options.line, buffers.draws++);
    std::size_t drawn = 0;
    while (drawn + 1 < best.size() && (left -= weights[drawn]) >= 0) ++drawn;
    buffers.segments = std::move(best[drawn].segments);
  }

  template <class Visitor>
  void visit_segments(const Buffers& buffers, Offsets offsets, Visitor&& visit) const {
    const auto origin = [&](std::size_t at) {
      return offsets == Offsets::kOfText ? buffers.normal.origin[at] : offsets == Offsets::kNone ? 0 : at;
    };
    const auto& segments = buffers.unigram.segments;
    core::StopCheck check_stop("encoding a text");
    for (std::size_t i = 0; i < segments.size(); ++i) {
      check_stop(10);
      const Segment& first = segments[i];
      if (first.id == model.unknown() && definition.byte_fallback) {
        // The last byte has the place of the character.
        for (std::size_t at = first.begin; at < first.end; ++at)
          visit(model.byte(static_cast<unsigned char>(buffers.normal.text[at])), origin(first.begin),
                origin(at + 1 < first.end ? first.begin : first.end));
        continue;
      }
      if (first.id == model.unknown())  // one piece for a run
        while (i + 1 < segments.size() && segments[i + 1].id == model.unknown()) ++i;
      const std::int32_t id = definition.unknown_by_text && first.id == model.unknown()
                                  ? named_unknown(buffers.normal.text, first.begin, segments[i].end)
                                  : first.id;
      visit(id, origin(first.begin), origin(segments[i].end));
    }
  }

  std::int32_t named_unknown(std::string_view text, std::size_t begin, std::size_t end) const {
    const std::int32_t id = model.find(text.substr(begin, end - begin));
    return id >= 0 && at(id).type == Type::kUnused ? id : model.unknown();
  }

  UnigramDefinition definition;
  std::vector<std::string> texts;  // by id
  UnigramModel model;
  SentencePieceNormalizer normalizer;
  Trie special;
  std::vector<DecodedPiece> decoded;  // by id
};

UnigramTokenizer::UnigramTokenizer(UnigramDefinition definition, const std::string& name)
    : impl_(std::make_unique<const Impl>(std::move(definition), name)) {}
UnigramTokenizer::~UnigramTokenizer() = default;
UnigramTokenizer::UnigramTokenizer(UnigramTokenizer&&) noexcept = default;
UnigramTokenizer& UnigramTokenizer::operator=(UnigramTokenizer&&) noexcept = default;

std::int32_t UnigramTokenizer::size() const {
  return static_cast<std::int32_t>(impl_->definition.pieces.size());
}

std::vector<std::int32_t> UnigramTokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<std::int32_t> ids;
  make_encoder(options)->encode(text, options.line, ids);
  return ids;
}

std::vector<Piece> UnigramTokenizer::encode_pieces(std::string_view text, const EncodeOptions& options) const {
  check(options);
  Buffers buffers;
  std::vector<Piece> pieces;
  impl_->for_each_piece(text, options, Impl::Offsets::kOfText, buffers,
                        [&](std::int32_t id, std::size_t begin, std::size_t end) {
                          pieces.push_back({id, begin, end});
                        });
  return pieces;
}

std::vector<std::string> UnigramTokenizer::encode_as_text(std::string_view text, const EncodeOptions& options) const {
  check(options);
  Buffers buffers;
  std::vector<std::string> pieces;
  const auto add = [&](std::int32_t id, std::size_t begin, std::size_t end) {
    const bool unknown = id == impl_->model.unknown() && begin < end && end <= buffers.normal.text.size();
    pieces.emplace_back(unknown ? std::string_view(buffers.normal.text).substr(begin, end - begin) : piece(id));
  };
  impl_->for_each_piece(text, options, Impl::Offsets::kOfNormalText, buffers, add);
  return pieces;
}

std::vector<Segmentation> UnigramTokenizer::encode_n_best(std::string_view text, std::int32_t most) const {
  check_n_best(most);
  Buffers buffers;
  impl_->normalizer.apply(text, 0, false, buffers.normal);
  std::vector<Segmentation> found;
  for (ScoredSegments& each : impl_->model.n_best(buffers.normal.text, static_cast<std::size_t>(most))) {
    buffers.unigram.segments = std::move(each.segments);
    Segmentation& next = found.emplace_back(Segmentation{.ids = {}, .score = each.score});
    impl_->visit_segments(buffers, Impl::Offsets::kNone,
                          [&](std::int32_t id, std::size_t, std::size_t) { next.ids.push_back(id); });
  }
  return found;
}

std::vector<TextSegmentation> UnigramTokenizer::n_best_pieces(std::string_view text, std::int32_t most,
                                                              std::optional<Clock::time_point> deadline) const {
  check_n_best(most);
  Buffers buffers;
  impl_->normalizer.apply(text, 0, true, buffers.normal);
  const AlignedText& normal = buffers.normal;
  auto best = impl_->model.n_best(normal.text, static_cast<std::size_t>(most), deadline);
  if (best.empty()) best = impl_->model.n_best(normal.text, 1);
  std::vector<TextSegmentation> found;
  for (ScoredSegments& each : best) {
    buffers.unigram.segments = std::move(each.segments);
    TextSegmentation& next = found.emplace_back(TextSegmentation{.pieces = {}, .score = each.score});
    impl_->visit_segments(
        buffers, Impl::Offsets::kOfNormalText, [&](std::int32_t id, std::size_t begin, std::size_t end) {
          const bool unknown = id == impl_->model.unknown();
          next.pieces.push_back({id, unknown ? normal.text.substr(begin, end - begin) : impl_->at(id).text,
                                 normal.origin[begin], normal.origin[end]});
        });
  }
  return found;
}

std::unique_ptr<TextEncoder> UnigramTokenizer::make_encoder(const EncodeOptions& options) const {
  class Encoder final : public TextEncoder {
   public:
    Encoder(const Impl& impl, const EncodeOptions& options) : impl_(impl), options_(options) { check(options_); }
    void encode(std::string_view text, std::uint64_t line, std::vector<std::int32_t>& ids) override {
      options_.line = line;
      impl_.for_each_piece(text, options_, Impl::Offsets::kNone, buffers_,
                           [&](std::int32_t id, std::size_t, std::size_t) { ids.push_back(id); });
    }

   private:
    const Impl& impl_;
    EncodeOptions options_;
    Buffers buffers_;
  };
  return std::make_unique<Encoder>(*impl_, options);
}

std::string UnigramTokenizer::decode(std::span<const std::int32_t> ids) const {
  const auto decoder = make_decoder();
  std::string text;
  core::StopCheck check_stop("decoding ids");
  for (const std::int32_t id : ids) {
    check_stop(10);
    decoder->decode(id, text);
  }
  decoder->finish(text);
  return text;
}

std::unique_ptr<StreamingDecoder> UnigramTokenizer::make_decoder() const {
  const UnigramDefinition& d = impl_->definition;
  return std::make_unique<SentencePieceDecoder>(impl_->decoded, d.dummy_prefix, d.remove_extra_spaces);
}

std::string_view UnigramTokenizer::piece(std::int32_t id) const {
  return impl_->at(id).text;
}

std::optional<std::int32_t> UnigramTokenizer::id(std::string_view piece) const {
  const std::int32_t found = impl_->model.find(piece);
  return found >= 0 ? std::optional(found) : std::nullopt;
}

bool UnigramTokenizer::is_special(std::int32_t id) const {
  return is_special_type(impl_->at(id).type);
}

const UnigramDefinition& UnigramTokenizer::definition() const noexcept {
  return impl_->definition;
}

}  // namespace dragoman::tokenizer
