#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/invalid_utf8.h>
#include <dragoman/tokenizer/memory_budget.h>
#include <dragoman/tokenizer/reproduce.h>

namespace dragoman::tokenizer {

enum class EncodingMode {
  kExact,    ///< merges in the order of their rank (Sennrich et al. 2016): what models are trained on
  kGreedy,   ///< the longest piece that matches, from left to right; not the same segmentation as kExact
  kDropout,  ///< BPE-dropout (Provilkov et al. 2020): as kExact, but each possible merge is left out at random
};

struct EncodeOptions {
  EncodingMode mode = EncodingMode::kExact;
  /// kDropout: the probability that a possible merge is left out; 0 equals kExact, 1 gives characters.
  double dropout = 0.1;
  /// kDropout: the draws are a pure function of (seed, line).
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
};

/// Byte pair encoding, stored as a Hugging Face `tokenizer.json`; tokenizer_files.h reads and writes other files.
/// docs/tokenizer.md says which parts of each format are supported; a file that uses others is refused by name, so that
/// nothing is ever encoded in a way that its author did not mean.
class BpeTokenizer final : public Tokenizer {
 public:
  /// Checks the definition and builds the tables. `name` stands in front of error messages. Throws Error{kBadInput}.
  explicit BpeTokenizer(BpeDefinition definition, const std::string& name = "tokenizer");
  ~BpeTokenizer() override;
  BpeTokenizer(BpeTokenizer&&) noexcept;
  BpeTokenizer& operator=(BpeTokenizer&&) noexcept;

  /// Throws Error{kBadInput} for text that is not a tokenizer and Error{kUnsupported} for one that uses a part we do
  /// not have.
  static BpeTokenizer parse(std::string_view json, const std::string& name);
  static BpeTokenizer load(const std::filesystem::path& path);
  /// The same bytes for the same definition, on every machine.
  std::string to_json() const;
  void save(const std::filesystem::path& path) const;

  std::int32_t size() const override;
  /// Throws Error{kBadInput} for a character that is not in the vocabulary of a tokenizer with neither byte fallback
  /// nor an unknown token, and for a word of 4 GiB or more.
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const override;
  std::vector<Piece> encode_pieces(std::string_view text, const EncodeOptions& options = {}) const override;
  std::unique_ptr<TextEncoder> make_encoder(const EncodeOptions& options = {}) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::unique_ptr<StreamingDecoder> make_decoder() const override;
  std::string_view piece(std::int32_t id) const override;
  std::optional<std::int32_t> id(std::string_view piece) const override;
  bool is_special(std::int32_t id) const override;

  const BpeDefinition& definition() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// Reads whatever kind of tokenizer the file holds, as open_tokenizer_file() without options does, and throws as it
/// does.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

enum class Normalization { kNone, kNfc, kNfkc };

struct LearnOptions {
  /// Number of pieces in all: special tokens, bytes, user symbols, characters and merged pieces.
  std::int32_t vocab_size = 32000;
  /// 0, or the smallest size that truncate() will be asked for: that it is possible is checked before, not after the
  /// merges have been learned.
  std::int32_t smallest_vocab_size = 0;
  /// A pair that occurs less often is not merged.
  std::uint64_t min_frequency = 2;
  /// Share of the corpus's characters that get a piece of their own; the rarest are left to byte fallback or the
  /// unknown token.
  double character_coverage = 1.0;
  /// Ids 0, 1, 2, ... in this order. `<unk>` among them is the unknown token.
  std::vector<std::string> special_tokens = {"<unk>", "<s>", "</s>"};
  /// Always one piece wherever they stand in the text, and never part of another.
  std::vector<std::string> user_symbols = {};
  bool byte_fallback = true;
  Normalization normalization = Normalization::kNone;
  bool lowercase = false;
  /// Each digit is a word by itself (BpeDefinition::split_digits).
  bool split_digits = false;
  /// Words end where an upper-case letter follows a lower-case one (BpeDefinition::split_case).
  bool split_case = false;
  /// Letters, numbers and other characters are words apart (BpeDefinition::split_punctuation).
  bool split_punctuation = false;
  /// Regular expressions, in the syntax that docs/tokenizer.md describes: no piece reaches over either end of what they
  /// match in the normalised text, and no merge is learned from it. Where several match, the one that begins first
  /// counts, and of those the one that stands first here. With one that can match a space, or that looks at what
  /// follows a word, learning keeps distinct lines in memory and not words, and count files are refused.
  std::vector<std::string> protected_patterns = {};
  /// Words begin at spaces, which become part of the piece that follows. If false, pieces may reach over a whole line.
  bool word_marks = true;
  /// Whether a U+2581 of the text, which is what the word mark looks like, comes back as one: it is escaped in front of
  /// the merges. If false, it comes back as a space, as in SentencePiece.
  bool escape_marks = true;
  /// Words that occur less often in the corpus are left out, as if they were not there; how many stands on the log.
  std::uint64_t min_word_count = 1;
  /// Of text; count files are read as they are.
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;
  /// 0 means core::default_threads(). The result does not depend on it.
  int threads = 0;
  /// How much memory the process may use. The result does not depend on it, nor on where words are put meanwhile.
  MemoryBudget memory = {};
  /// Learn by the rules of another program instead of those of learn_bpe(), and with its options. Of those above,
  /// min_frequency, threads and what its struct names apply; of others, byte_fallback is not looked at, and any that is
  /// not left at its default is an Error{kInvalidArgument}.
  Reproduce reproduce = {};
};

/// Throws Error{kBadInput}, naming the pattern, the offset in it and the reason, unless
/// LearnOptions::protected_patterns takes it.
void check_protected_pattern(const std::string& pattern);

/// Learns a vocabulary from text files (gzip and Zstandard are recognised, "-" is standard input); several files give a
/// joint one.
///
/// A merge joins the pair of neighbouring pieces that occurs most often inside words; of pairs with equal counts the
/// one whose left piece has the smaller id comes first, then the one whose right piece has. In a run of equal pieces
/// occurrences are counted without overlap, from left to right: `aaa` holds (a, a) once. Counts have 64 bits. Ids:
/// special tokens, 256 bytes, user symbols, characters by falling count and then by code point, merged pieces in the
/// order of their making.
///
/// Throws Error{kBadInput} for a corpus without words and for a pattern that is none, Error{kInvalidArgument} for
/// options that cannot be met (the message says the smallest vocabulary, or the smallest budget, that can), Error{kIo}
/// where a disk is full, Error{kInterrupted} when `stop` asks. Warns on `log` if pairs run out before the size is
/// reached.
BpeTokenizer learn_bpe(const std::vector<std::filesystem::path>& inputs, const LearnOptions& options,
                       const core::ProgressSink& progress = {}, const core::LogSink& log = {},
                       std::stop_token stop = {});

/// The same from files that count_words() has written, of the whole corpus or of its parts: the counts of a word that
/// stands in several lines are added. The vocabulary is the one that the text itself would give, to the byte. A
/// malformed line, or counts that add up to 2^63 or more, throw Error{kBadInput} naming file and line.
BpeTokenizer learn_bpe_from_counts(const std::vector<std::filesystem::path>& counts, const LearnOptions& options,
                                   const core::ProgressSink& progress = {}, const core::LogSink& log = {},
                                   std::stop_token stop = {});

}  // namespace dragoman::tokenizer
