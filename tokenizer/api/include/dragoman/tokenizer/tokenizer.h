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

enum class EncodingMode {
  kExact,    ///< merges in the order of their rank (Sennrich et al. 2016): what models are trained on
  kGreedy,   ///< the longest piece that matches, from left to right; not the same segmentation as kExact
  kDropout,  ///< BPE-dropout (Provilkov et al. 2020): as kExact, but each possible merge is left out at random
  kSample,   ///< of unigram models (Kudo 2018): a segmentation drawn by its probability to the power of `alpha`
};

struct EncodeOptions {
  EncodingMode mode = EncodingMode::kExact;
  /// kDropout: the probability that a possible merge is left out; 0 equals kExact, 1 gives characters.
  double dropout = 0.1;
  /// kSample: 1 draws by probability, 0 any segmentation alike; infinity would be kExact.
  double alpha = 0.1;
  /// kSample: draw among the so many most probable segmentations only; 0: among all.
  std::int32_t n_best = 0;
  /// kDropout, kSample: the draws are a pure function of (seed, line).
  std::uint64_t seed = 0;
  std::uint64_t line = 0;
  /// Whether `</s>` and its like in the text become the special token; otherwise they are plain text.
  bool match_special_tokens = false;
};

/// A piece and the bytes [begin, end) of the original text that it stands for. The ranges of a text's pieces follow one
/// another and cover it.
struct Piece {
  std::int32_t id;
  std::size_t begin;
  std::size_t end;
  bool operator==(const Piece&) const = default;
};

/// One way to cut a text.
struct Segmentation {
  std::vector<std::int32_t> ids;
  double score = 0;  ///< the logarithm of its probability, or what the model has in its place
};

/// The ids of several texts, one behind the other: those of text i are ids[offsets[i]] up to ids[offsets[i + 1]].
struct EncodedTexts {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> offsets = {0};  ///< one more than there are texts

  std::size_t size() const noexcept { return offsets.size() - 1; }
  std::span<const std::int32_t> operator[](std::size_t text) const {
    return std::span(ids).subspan(offsets[text], offsets[text + 1] - offsets[text]);
  }
  void clear() noexcept {
    ids.clear();
    offsets.resize(1);
  }
};

/// Encodes texts one after the other and remembers the words that it has met: several times faster than
/// Tokenizer::encode() for many texts, and the same ids. One thread at a time; its tokenizer must outlive it.
class TextEncoder {
 public:
  virtual ~TextEncoder();
  /// Appends the ids of a text. `line` takes the place of EncodeOptions::line.
  virtual void encode(std::string_view text, std::uint64_t line, std::vector<std::int32_t>& ids) = 0;
  /// Appends texts, the first as line `first_line` and so on, as encode() does one by one; faster where it is
  /// overridden. If one cannot be encoded, `out` is left with some that come before it.
  virtual void encode_all(std::span<const std::string_view> texts, std::uint64_t first_line, EncodedTexts& out);
};

/// Decodes ids that come one by one, as a model makes them. What all calls append, up to and with finish(), is what
/// Tokenizer::decode() gives for all ids together. Text that has been given is final, and no call ends it inside a
/// character: what a later id may still change (half a character, a space that may be dropped) waits for it. One thread
/// at a time; its tokenizer must outlive it.
class StreamingDecoder {
 public:
  virtual ~StreamingDecoder();
  /// Appends to `text` what is certain with this id. Throws as Tokenizer::decode(), and then as if it was not called.
  virtual void decode(std::int32_t id, std::string& text) = 0;
  /// Appends what is certain with a token that has no piece, as Tokenizer::encode_as_text() writes it. This one ends
  /// the text so far and appends the token as it is.
  virtual void decode_text(std::string_view piece, std::string& text);
  /// Appends what has waited, even half a character; the next id begins another text.
  virtual void finish(std::string& text) = 0;
};

/// Text to piece ids and back. Immutable: const calls may come from any thread at any time. Plugins may derive from it.
class Tokenizer {
 public:
  virtual ~Tokenizer();

  /// Number of pieces; ids are 0 ... size() - 1.
  virtual std::int32_t size() const = 0;
  /// The ids of one line of text, which may hold any bytes; no special tokens are added.
  virtual std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const = 0;
  virtual std::vector<Piece> encode_pieces(std::string_view text, const EncodeOptions& options = {}) const = 0;
  /// The tokens of encode() as lines of pieces have them: the pieces, and of what has none the normalised text itself,
  /// as SentencePiece writes it. This one returns the pieces, the unknown one among them.
  virtual std::vector<std::string> encode_as_text(std::string_view text, const EncodeOptions& options = {}) const;
  /// An encoder that gives what encode() gives. This one calls it; a tokenizer that can do better overrides it.
  virtual std::unique_ptr<TextEncoder> make_encoder(const EncodeOptions& options = {}) const;
  /// The text of the ids; special tokens are left out. Byte pieces in an order that encode() never gives can make
  /// invalid UTF-8. Throws Error{kInvalidArgument} only for an id outside [0, size()).
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
  /// A decoder for ids one by one. This one gives all its text at the end, since it cannot know what decode() may yet
  /// change; a tokenizer that can overrides it.
  virtual std::unique_ptr<StreamingDecoder> make_decoder() const;
  /// The piece as it stands in the file, or, of a tokenizer whose lines have continuation marks, as it stands there.
  /// Throws Error{kInvalidArgument} for an id outside [0, size()).
  virtual std::string_view piece(std::int32_t id) const = 0;
  virtual std::optional<std::int32_t> id(std::string_view piece) const = 0;
  virtual bool is_special(std::int32_t id) const = 0;
  /// The `most` best segmentations, the best first, or fewer if there are not so many. Throws Error{kUnsupported} for a
  /// tokenizer that knows only one, as all but unigram models do.
  virtual std::vector<Segmentation> encode_n_best(std::string_view text, std::int32_t most) const;
};

}  // namespace dragoman::tokenizer
