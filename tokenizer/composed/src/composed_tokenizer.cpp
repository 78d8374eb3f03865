#include "composed/composed_tokenizer.h"

#include "base/piece_table.h"
#include "bpe/word_cache.h"
#include "cutting.h"
#include "text_decoder.h"
#include "text_steps.h"
#include "token_finder.h"
#include "word_models.h"

#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;

std::vector<const ComposedToken*> tokens_of(const ComposedDefinition& definition, bool normalized) {
  std::vector<const ComposedToken*> tokens;
  for (const ComposedToken& token : definition.added_tokens)
    if (token.normalized == normalized) tokens.push_back(&token);
  return tokens;
}

/// Returns the texts to find for tokens that are matched in normalised text.
std::vector<std::string> parts_of(const std::vector<const ComposedToken*>& tokens, const TextNormalizer* normalizer) {
  std::vector<std::string> texts;
  for (const ComposedToken* token : tokens)
    texts.push_back(normalizer == nullptr ? token->text : normalizer->apply(token->text, 0, false).text);
  return texts;
}

TokenFinder finder_of(const ComposedDefinition& definition, const TextNormalizer* normalizer) {
  const auto tokens = tokens_of(definition, normalizer != nullptr);
  return {tokens, parts_of(tokens, normalizer)};
}

}  // namespace

struct ComposedTokenizer::Impl {
  Impl(ComposedDefinition d, const std::string& name)
      : definition(std::move(d)),
        normalizer(definition.normalizer),
        raw_tokens(finder_of(definition, nullptr)),
        normal_tokens(finder_of(definition, &normalizer)),
        cutter(definition.pre_tokenizer),
        model(make_word_model(definition, name)),
        decoder(definition.decoder, definition.joins_with_spaces),
        by_text(definition.pieces),
        special(definition.pieces.size(), false) {
    for (std::size_t id = 0; id < definition.pieces.size(); ++id)
      if (!definition.pieces[id].empty())
        require(by_text.add(static_cast<std::int32_t>(id)), ErrorCode::kBadInput, "{}: {} is the text of two pieces",
                name, Quoted{definition.pieces[id]});
    for (const ComposedToken& token : definition.added_tokens)
      special[static_cast<std::size_t>(token.id)] = token.special;
  }

  void check_id(std::int32_t id) const {
    require(id >= 0 && static_cast<std::size_t>(id) < definition.pieces.size(), ErrorCode::kInvalidArgument,
            "the id {} is not in the vocabulary, whose ids run from 0 to {}", id, definition.pieces.size() - 1);
  }

  /// Calls token(id, begin, end) for each added token, and word(text, its origin) for each word.
  template <class OnToken, class OnWord>
  void for_each(std::string_view text, const EncodeOptions& options, bool track, OnToken&& on_token,
                OnWord&& on_word) const {
    track = track || cutter.needs_offsets();
    raw_tokens.for_each(text, options.match_special_tokens, [&](std::int32_t id, std::size_t begin, std::size_t end) {
      if (id >= 0) return on_token(id, begin, end);
      AlignedText normal = normalizer.apply(text.substr(begin, end - begin), begin, track);
      cut_normal(std::move(normal), begin, options, on_token, on_word);
    });
  }

  template <class OnToken, class OnWord>
  void cut_normal(AlignedText normal, std::size_t origin, const EncodeOptions& options, OnToken&& on_token,
                  OnWord&& on_word) const {
    const auto place = [&](std::size_t at) { return normal.origin.empty() ? 0 : normal.origin[at]; };
    if (normal_tokens.empty()) return cut_words({std::move(normal), {}, origin, true}, on_word);
    normal_tokens.for_each(normal.text, options.match_special_tokens,
                           [&](std::int32_t id, std::size_t begin, std::size_t end) {
                             if (id >= 0) return on_token(id, place(begin), place(end));
                             AlignedText part;
                             part.text = normal.text.substr(begin, end - begin);
                             if (!normal.origin.empty())
                               part.origin.assign(normal.origin.begin() + static_cast<std::ptrdiff_t>(begin),
                                                  normal.origin.begin() + static_cast<std::ptrdiff_t>(end) + 1);
                             const std::size_t first = begin == 0 ? origin : place(begin);
                             cut_words({std::move(part), {}, first, true}, on_word);
                           });
  }

  template <class OnWord>
  void cut_words(CutText text, OnWord&& on_word) const {
    text.parts = {{0, text.text.text.size()}};
    cutter.cut(text);
    const std::string_view whole = text.text.text;
    const std::span<const std::size_t> origin = text.text.origin;
    for (const CutText::Part& part : text.parts) {
      if (part.begin == part.end) continue;
      on_word(whole.substr(part.begin, part.end - part.begin),
              origin.empty() ? origin : origin.subspan(part.begin, part.end - part.begin + 1));
    }
  }

  ComposedDefinition definition;
  TextNormalizer normalizer;
  TokenFinder raw_tokens;
  TokenFinder normal_tokens;
  TextCutter cutter;
  std::unique_ptr<WordModel> model;
  TextDecoder decoder;
  PieceTable<> by_text;
  std::vector<bool> special;
};

/// Looks words up in a cache before it calls the model.
class ComposedTokenizer::Encoder final : public TextEncoder {
 public:
  Encoder(const Impl& impl, const EncodeOptions& options)
      : impl_(impl), options_(options), buffers_(impl.model->make_buffers()) {
    impl_.model->check(options_);
  }

  void encode(std::string_view text, std::uint64_t line, std::vector<std::int32_t>& ids) override {
    options_.line = line;
    restart_draws();
    impl_.for_each(
        text, options_, false, [&](std::int32_t id, std::size_t, std::size_t) { ids.push_back(id); },
        [&](std::string_view word, std::span<const std::size_t>) { append_word(word, ids); });
  }

 private:
  void append_word(std::string_view word, std::vector<std::int32_t>& ids) {
    const bool random = options_.mode == EncodingMode::kDropout;
    const WordKey key = WordKey::of(word);
    if (const std::uint8_t* known = random ? nullptr : cache_.find(word, key, nullptr); known != nullptr)
      return PackedIds(known).append_to(ids);
    pieces_.clear();
    impl_.model->encode(word, options_, *buffers_, pieces_);
    const std::size_t first = ids.size();
    for (const WordPiece& piece : pieces_) ids.push_back(piece.id);
    const std::span<const std::int32_t> encoded = std::span(ids).subspan(first);
    std::uint8_t packed[WordCache::kMaxBytes];
    if (!random && encoded.size() <= PackedIds::most(sizeof packed))
      cache_.insert(word, key, PackedIds::pack(encoded, packed));
  }
  /// Restarts the random numbers for a line.
  void restart_draws() {
    if (options_.mode == EncodingMode::kDropout) buffers_ = impl_.model->make_buffers();
  }

  const Impl& impl_;
  EncodeOptions options_;
  std::unique_ptr<WordModel::Buffers> buffers_;
  std::vector<WordPiece> pieces_;
  WordCache cache_;
};

ComposedTokenizer::ComposedTokenizer(ComposedDefinition definition, const std::string& name)
    : impl_(std::make_unique<const Impl>(std::move(definition), name)) {}
ComposedTokenizer::~ComposedTokenizer() = default;

std::int32_t ComposedTokenizer::size() const {
  return static_cast<std::int32_t>(impl_->definition.pieces.size());
}

std::vector<std::int32_t> ComposedTokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<std::int32_t> ids;
  for (const Piece& piece : encode_pieces(text, options)) ids.push_back(piece.id);
  return ids;
}

std::vector<Piece> ComposedTokenizer::encode_pieces(std::string_view text, const EncodeOptions& options) const {
  impl_->model->check(options);
  const auto buffers = impl_->model->make_buffers();
  std::vector<WordPiece> word_pieces;
  std::vector<Piece> pieces;
  impl_->for_each(
      text, options, true,
      [&](std::int32_t id, std::size_t begin, std::size_t end) {
        pieces.push_back({id, begin, end});
      },
      [&](std::string_view word, std::span<const std::size_t> origin) {
        word_pieces.clear();
        impl_->model->encode(word, options, *buffers, word_pieces);
        std::size_t at = 0;
        for (const WordPiece& piece : word_pieces) {
          pieces.push_back({piece.id, origin[at], origin[at + piece.length]});
          at += piece.length;
        }
      });
  return pieces;
}

std::unique_ptr<TextEncoder> ComposedTokenizer::make_encoder(const EncodeOptions& options) const {
  return std::make_unique<Encoder>(*impl_, options);
}

std::string ComposedTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::vector<std::string> texts;
  for (const std::int32_t id : ids) {
    impl_->check_id(id);
    if (!impl_->special[static_cast<std::size_t>(id)] &&
        !impl_->definition.pieces[static_cast<std::size_t>(id)].empty())
      texts.push_back(impl_->definition.pieces[static_cast<std::size_t>(id)]);
  }
  return impl_->decoder.decode(std::move(texts));
}

std::string_view ComposedTokenizer::piece(std::int32_t id) const {
  impl_->check_id(id);
  return impl_->definition.pieces[static_cast<std::size_t>(id)];
}

std::optional<std::int32_t> ComposedTokenizer::id(std::string_view piece) const {
  const std::int32_t found = impl_->by_text.find(piece);
  return found >= 0 ? std::optional(found) : std::nullopt;
}

const std::string& ComposedTokenizer::post_processor() const noexcept {
  return impl_->definition.post_processor;
}

bool ComposedTokenizer::is_special(std::int32_t id) const {
  impl_->check_id(id);
  return impl_->special[static_cast<std::size_t>(id)];
}

}  // namespace dragoman::tokenizer
