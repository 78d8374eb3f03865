#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// The algorithm that selects a segmentation.
enum class EncodingMode {
  kExact,    ///< merges in the order of their rank (Sennrich et al. 2016): the segmentation that models are trained on
  kGreedy,   ///< the longest matching piece, from left to right; the segmentation differs from kExact
  kDropout,  ///< BPE-dropout (Provilkov et al. 2020): like kExact, but each possible merge is skipped at random
  kSample,   ///< unigram models only (Kudo 2018): a random segmentation, by its probability to the power of `alpha`
};

/// The options of Tokenizer::encode().
struct EncodeOptions {
  EncodingMode mode = EncodingMode::kExact;
  /// For kDropout: the probability that a possible merge is skipped. 0 equals kExact, 1 gives characters.
  double dropout = 0.1;
  /// For kSample: 1 draws by probability, 0 draws uniformly, and infinity would be kExact.
  double alpha = 0.1;
  /// For kSample: draws only among this number of the most probable segmentations. 0: among all.
  std::int32_t n_best = 0;
  /// For kDropout and kSample: the random draws are a pure function of (seed, line).
  std::uint64_t seed = 0;
  std::uint64_t line = 0;
  /// Whether special tokens such as `</s>` are recognised in the text. Otherwise they are plain text, except with a
  /// `tokenizer.json` of Unigram, WordPiece or WordLevel: these always recognise them, as the tokenizers library does.
  bool match_special_tokens = false;
};

/// A piece, and the bytes [begin, end) of the original text that it represents. The ranges of a text's pieces are
/// consecutive and cover the text.
struct Piece {
  std::int32_t id;
  std::size_t begin;
  std::size_t end;
  bool operator==(const Piece&) const = default;
};

/// One segmentation of a text.
struct Segmentation {
  std::vector<std::int32_t> ids;
  double score = 0;  ///< the logarithm of its probability, or the model's substitute for it
};

/// The concatenated ids of several texts. Text i has the ids from ids[offsets[i]] up to, but not including,
/// ids[offsets[i + 1]].
struct EncodedTexts {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> offsets = {0};  ///< one more than the number of texts

  std::size_t size() const noexcept { return offsets.size() - 1; }
  std::span<const std::int32_t> operator[](std::size_t text) const {
    return std::span(ids).subspan(offsets[text], offsets[text + 1] - offsets[text]);
  }
  void clear() noexcept {
    ids.clear();
    offsets.resize(1);
  }
};

/// Encodes a sequence of texts with a cache of words. The ids are the same as from Tokenizer::encode(), but for many
/// texts this is several times faster. One thread at a time. The tokenizer must outlive the encoder.
///
///     const auto tokenizer = load_tokenizer("tokenizer.json");      // tokenizer_files.h
///     const auto encoder = tokenizer->make_encoder();
///     std::vector<std::int32_t> ids;
///     encoder->encode("Guten Morgen!", /*line=*/1, ids);
class TextEncoder {
 public:
  virtual ~TextEncoder();
  /// Appends the ids of a text. `line` replaces EncodeOptions::line.
  virtual void encode(std::string_view text, std::uint64_t line, std::vector<std::int32_t>& ids) = 0;
  /// Appends the ids of several texts, like encode() for one after the other, starting with the line `first_line`.
  /// Encoders override it where that is faster. If a text cannot be encoded, `out` may contain some of the texts before
  /// it.
  virtual void encode_all(std::span<const std::string_view> texts, std::uint64_t first_line, EncodedTexts& out);
};

/// Decodes ids that arrive one by one, for example from a model.
///
/// The appended texts of all calls, up to and including finish(), are together equal to Tokenizer::decode() of all ids.
/// Appended text is final and never ends inside a character. Text that a later id may still change (half a character, a
/// space that may be dropped) is held back. One thread at a time. The tokenizer must outlive the decoder.
///
///     const auto tokenizer = load_tokenizer("tokenizer.json");      // tokenizer_files.h
///     const auto decoder = tokenizer->make_decoder();
///     std::string text;
///     for (const std::int32_t id : tokenizer->encode("Guten Morgen!")) decoder->decode(id, text);
///     decoder->finish(text);
class StreamingDecoder {
 public:
  virtual ~StreamingDecoder();
  /// Appends to `text` what is final with this id. Throws like Tokenizer::decode(), and then leaves the state
  /// unchanged.
  virtual void decode(std::int32_t id, std::string& text) = 0;
  /// Appends a token without a piece, as returned by Tokenizer::encode_as_text(). The default implementation calls
  /// finish() and appends the token unchanged.
  virtual void decode_text(std::string_view piece, std::string& text);
  /// Appends the text that was held back, even half a character. The next id starts a new text.
  virtual void finish(std::string& text) = 0;
};

/// Converts text to piece ids and back.
///
///     const auto tokenizer = load_tokenizer("tokenizer.json");      // tokenizer_files.h
///     const std::vector<std::int32_t> ids = tokenizer->encode("Guten Morgen!");
///     std::string text = tokenizer->decode(ids);
///
/// Immutable: any number of threads may call const functions at the same time. Plugins may derive from it.
class Tokenizer {
 public:
  virtual ~Tokenizer();

  /// Returns the number of pieces. Ids are 0 ... size() - 1.
  virtual std::int32_t size() const = 0;
  /// Returns the ids of one line of text, which may contain any bytes. No special tokens are added.
  virtual std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const = 0;
  /// Returns the pieces of encode() with the bytes that each represents.
  virtual std::vector<Piece> encode_pieces(std::string_view text, const EncodeOptions& options = {}) const = 0;
  /// Returns the tokens of encode() as they appear in lines of pieces. A token without a piece is the normalised text
  /// itself, as SentencePiece writes it, with the continuation mark of subword-nmt where pieces have one. The default
  /// implementation returns the pieces, with the unknown piece for such tokens.
  virtual std::vector<std::string> encode_as_text(std::string_view text, const EncodeOptions& options = {}) const;
  /// Returns an encoder with the same results as encode(). The default implementation calls encode(); override it if a
  /// cache makes it faster.
  virtual std::unique_ptr<TextEncoder> make_encoder(const EncodeOptions& options = {}) const;
  /// Returns the text of the ids without special tokens. Byte pieces in an order that encode() never produces may give
  /// invalid UTF-8. Throws Error{kInvalidArgument} only for an id outside [0, size()).
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
  /// Returns a decoder for ids that arrive one by one. The default implementation appends all text in finish(), since
  /// it does not know which part of it decode() may still change.
  virtual std::unique_ptr<StreamingDecoder> make_decoder() const;
  /// Returns the piece as it is in the tokenizer file, or with its continuation mark for a tokenizer whose lines have
  /// these. Throws Error{kInvalidArgument} for an id outside [0, size()).
  virtual std::string_view piece(std::int32_t id) const = 0;
  /// Returns the id of a piece, or nullopt if the tokenizer has no such piece.
  virtual std::optional<std::int32_t> id(std::string_view piece) const = 0;
  virtual bool is_special(std::int32_t id) const = 0;
  /// Returns the `most` best segmentations, the best first, or fewer if there are not enough. Throws
  /// Error{kUnsupported} for tokenizers with a single segmentation, which are all except unigram models.
  virtual std::vector<Segmentation> encode_n_best(std::string_view text, std::int32_t most) const;
};

}  // namespace dragoman::tokenizer
