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
#include <dragoman/core/stop_scope.h>

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
  std::size_t bytes = 0;
  for (const ComposedToken* token : tokens) bytes += token->text.size();
  SearchWork work(bytes);
  std::vector<std::string> texts;
  for (const ComposedToken* token : tokens)
    texts.push_back(normalizer == nullptr ? token->text
                                          : normalizer->apply(as_it_stands(token->text, 0, false), work).text);
  return texts;
}

/// How much is known about the place of words in the original text.
enum class Tracking { kNone, kOrigin, kSpans };

/// An added token in a text. `span` is set if spans are tracked.
struct FoundToken {
  std::int32_t id;
  std::size_t begin;
  std::size_t end;
  std::string_view text;
  LibrarySpan span;
};

/// A word. `origin` and `spans` are empty if they are not tracked.
struct Word {
  std::string_view text;
  std::span<const std::size_t> origin;
  std::span<const LibrarySpan> spans;
};

LibrarySpan span_of(std::span<const LibrarySpan> spans) {
  return spans.empty() ? LibrarySpan{0, 0} : LibrarySpan{spans.front().begin, spans.back().end};
}

AlignedText part_of(const AlignedText& text, std::size_t begin, std::size_t end) {
  const auto from = static_cast<std::ptrdiff_t>(begin);
  const auto to = static_cast<std::ptrdiff_t>(end);
  AlignedText part;
  part.text = text.text.substr(begin, end - begin);
  if (!text.origin.empty()) part.origin.assign(text.origin.begin() + from, text.origin.begin() + to + 1);
  if (!text.spans.empty()) part.spans.assign(text.spans.begin() + from, text.spans.begin() + to);
  return part;
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
    core::StopCheck check_stop("opening a tokenizer");
    for (std::size_t id = 0; id < definition.pieces.size(); ++id) {
      check_stop(200);
      if (!definition.pieces[id].empty())
        require(by_text.add(static_cast<std::int32_t>(id)), ErrorCode::kBadInput, "{}: {} is the text of two pieces",
                name, Quoted{definition.pieces[id]});
    }
    for (const ComposedToken& token : definition.added_tokens)
      special[static_cast<std::size_t>(token.id)] = token.special;
  }

  void check_id(std::int32_t id) const {
    require(id >= 0 && static_cast<std::size_t>(id) < definition.pieces.size(), ErrorCode::kInvalidArgument,
            "the id {} is not in the vocabulary, whose ids run from 0 to {}", id, definition.pieces.size() - 1);
  }

  /// Calls on_token(FoundToken) for each added token, and on_word(Word) for each word.
  template <class OnToken, class OnWord>
  void for_each(std::string_view text, const EncodeOptions& options, Tracking tracking, OnToken&& on_token,
                OnWord&& on_word) const {
    const bool spans = tracking == Tracking::kSpans || cutter.needs_spans();
    SearchWork work(text.size());
    raw_tokens.for_each(text, options.match_special_tokens, [&](std::int32_t id, std::size_t begin, std::size_t end) {
      const std::string_view part = text.substr(begin, end - begin);
      if (id >= 0) return on_token(FoundToken{id, begin, end, part, {begin, end}});
      AlignedText normal = normalizer.apply(
          spans ? with_spans(part, begin) : as_it_stands(part, begin, tracking == Tracking::kOrigin), work);
      cut_normal(std::move(normal), options, work, on_token, on_word);
    });
  }

  template <class OnToken, class OnWord>
  void cut_normal(AlignedText normal, const EncodeOptions& options, SearchWork& work, OnToken&& on_token,
                  OnWord&& on_word) const {
    const auto place = [&](std::size_t at) { return normal.origin.empty() ? 0 : normal.origin[at]; };
    if (normal_tokens.empty()) return cut_words({std::move(normal), {}}, work, on_word);
    normal_tokens.for_each(normal.text, options.match_special_tokens,
                           [&](std::int32_t id, std::size_t begin, std::size_t end) {
                             AlignedText part = part_of(normal, begin, end);
                             if (id < 0) return cut_words({std::move(part), {}}, work, on_word);
                             on_token(FoundToken{id, place(begin), place(end), part.text, span_of(part.spans)});
                           });
  }

  template <class OnWord>
  void cut_words(CutText text, SearchWork& work, OnWord&& on_word) const {
    text.parts = {{0, text.text.text.size()}};
    cutter.cut(text, work);
    const std::string_view whole = text.text.text;
    const std::span<const std::size_t> origin = text.text.origin;
    const std::span<const LibrarySpan> spans = text.text.spans;
    core::StopCheck check("encoding a text");
    for (const CutText::Part& part : text.parts) {
      const std::size_t size = part.end - part.begin;
      check(50 + size);
      if (size == 0) continue;
      on_word(Word{whole.substr(part.begin, size), origin.empty() ? origin : origin.subspan(part.begin, size + 1),
                   spans.empty() ? spans : spans.subspan(part.begin, size)});
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
        text, options_, Tracking::kNone, [&](const FoundToken& token) { ids.push_back(token.id); },
        [&](const Word& word) { append_word(word.text, ids); });
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
      text, options, Tracking::kOrigin,
      [&](const FoundToken& token) {
        pieces.push_back({token.id, token.begin, token.end});
      },
      [&](const Word& word) {
        word_pieces.clear();
        impl_->model->encode(word.text, options, *buffers, word_pieces);
        std::size_t at = 0;
        for (const WordPiece& piece : word_pieces) {
          pieces.push_back({piece.id, word.origin[at], word.origin[at + piece.length]});
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

std::vector<LibraryToken> ComposedTokenizer::encode_as_library(std::string_view text,
                                                               const EncodeOptions& options) const {
  impl_->model->check(options);
  const auto buffers = impl_->model->make_buffers();
  std::vector<WordPiece> word_pieces;
  std::vector<LibraryToken> tokens;
  std::int32_t words = 0;
  impl_->for_each(
      text, options, Tracking::kSpans,
      [&](const FoundToken& token) {
        std::string shown(token.text == impl_->definition.pieces[static_cast<std::size_t>(token.id)] ? "" : token.text);
        tokens.push_back({token.id, words++, token.span.begin, token.span.end, std::move(shown)});
      },
      [&](const Word& word) {
        word_pieces.clear();
        impl_->model->encode(word.text, options, *buffers, word_pieces);
        std::size_t at = 0;
        for (const WordPiece& piece : word_pieces) {
          const std::size_t first = at - piece.before;
          const std::size_t size = piece.before + piece.length + piece.after;
          // A token without text is where it is in its word, as the library counts.
          const LibrarySpan span = size == 0 ? LibrarySpan{word.spans.front().begin + at, word.spans.front().begin + at}
                                             : span_of(word.spans.subspan(first, size));
          std::string shown(piece.shows_text ? word.text.substr(at, piece.length) : "");
          tokens.push_back({piece.id, words, span.begin, span.end, std::move(shown)});
          at += piece.length;
        }
        ++words;
      });
  return tokens;
}

std::vector<LibraryToken> ComposedTokenizer::words_as_library(std::string_view text,
                                                              const EncodeOptions& options) const {
  std::vector<LibraryToken> words;
  const auto add = [&](std::int32_t id, std::string_view shown, LibrarySpan span) {
    words.push_back({id, static_cast<std::int32_t>(words.size()), span.begin, span.end, std::string(shown)});
  };
  impl_->for_each(
      text, options, Tracking::kSpans, [&](const FoundToken& token) { add(token.id, token.text, token.span); },
      [&](const Word& word) { add(-1, word.text, span_of(word.spans)); });
  return words;
}

std::string ComposedTokenizer::normalize(std::string_view text) const {
  SearchWork work(text.size());
  return impl_->normalizer.apply(as_it_stands(text, 0, false), work).text;
}

std::map<std::int32_t, std::string> ComposedTokenizer::normalized_tokens() const {
  std::map<std::int32_t, std::string> texts;
  for (const ComposedToken& token : impl_->definition.added_tokens) {
    if (!token.normalized) continue;
    std::string text = normalize(token.text);
    if (text != token.text) texts.emplace(token.id, std::move(text));
  }
  return texts;
}

std::string ComposedTokenizer::decode_texts(std::vector<std::string> tokens) const {
  return impl_->decoder.decode(std::move(tokens));
}

}  // namespace dragoman::tokenizer
