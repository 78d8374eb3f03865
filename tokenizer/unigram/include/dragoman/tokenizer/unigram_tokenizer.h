#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// An entry of a unigram vocabulary.
struct UnigramPiece {
  /// The values are those in SentencePiece's files.
  enum class Type : std::uint8_t {
    kNormal = 1,
    kUnknown = 2,      ///< represents characters that no piece contains; a model has one piece of this type
    kControl = 3,      ///< `<s>` and similar: never produced from text except on request
    kUserDefined = 4,  ///< always one piece where its text occurs; protected from normalisation
    kUnused = 5,       ///< has an id, but is never produced from text
    kByte = 6,         ///< `<0x00>` ... `<0xFF>`
  };
  std::string text;  ///< valid UTF-8, not empty, unique
  float score = 0;   ///< the logarithm of its probability
  Type type = Type::kNormal;
};

/// A unigram language model of pieces (Kudo 2018) with SentencePiece's normalisation.
struct UnigramDefinition {
  std::vector<UnigramPiece> pieces;  ///< by id
  bool byte_fallback = false;        ///< an unknown character becomes its UTF-8 bytes `<0xNN>`
  /// The text that the unknown piece decodes to.
  std::string unknown_surface = " \xE2\x81\x87 ";
  std::string normalizer_name = "identity";  ///< the name of the character map
  std::string character_map = {};   ///< SentencePiece's `precompiled_charsmap`; if empty, characters are unchanged
  bool dummy_prefix = true;         ///< a text that is not empty gets a leading space
  bool remove_extra_spaces = true;  ///< spaces at both ends are removed, and runs become one space
  bool escape_spaces = true;        ///< spaces become U+2581
  bool space_as_suffix = false;     ///< the dummy prefix is appended instead
  /// A run of unknown characters that as a whole is the text of an unused piece becomes that piece. This is the
  /// behaviour of programs that look the library's pieces up in a vocabulary by their text.
  bool unknown_by_text = false;
};

/// A piece of a segmentation with its text.
struct TextPiece {
  std::int32_t id;
  /// The piece as it is in the vocabulary, or for the unknown piece the normalised text that it represents.
  std::string text;
  std::size_t begin;  ///< of its bytes in the original text
  std::size_t end;
  bool operator==(const TextPiece&) const = default;
};

/// One segmentation of a text, with texts and offsets.
struct TextSegmentation {
  std::vector<TextPiece> pieces;
  double score = 0;  ///< the logarithm of its probability
};

/// Segments a text into the pieces with the largest sum of scores, like the SentencePiece library. The ids, the offsets
/// and the decoded text are the same, so ill-formed UTF-8 is read as U+FFFD. The unknown and the control pieces are
/// special.
///
///     const auto definition = std::get<UnigramDefinition>(read_any_tokenizer_file("source.spm"));
///     const UnigramTokenizer tokenizer(definition, "source.spm");     // the function above is in tokenizer_files.h
///     const std::vector<std::int32_t> ids = tokenizer.encode("Guten Morgen!");
///
/// Modes other than kExact and kSample need merges and throw Error{kUnsupported}. Immutable and thread-safe, like every
/// Tokenizer. It owns its definition.
class UnigramTokenizer final : public Tokenizer {
 public:
  using Clock = std::chrono::steady_clock;

  /// Validates the definition and builds the tables. Error messages start with `name`. Throws Error{kBadInput}, and
  /// Error{kUnsupported} for a piece that contains NUL.
  explicit UnigramTokenizer(UnigramDefinition definition, const std::string& name = "tokenizer");
  ~UnigramTokenizer() override;
  UnigramTokenizer(UnigramTokenizer&&) noexcept;
  UnigramTokenizer& operator=(UnigramTokenizer&&) noexcept;

  std::int32_t size() const override;
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const override;
  std::vector<Piece> encode_pieces(std::string_view text, const EncodeOptions& options = {}) const override;
  std::vector<std::string> encode_as_text(std::string_view text, const EncodeOptions& options = {}) const override;
  std::unique_ptr<TextEncoder> make_encoder(const EncodeOptions& options = {}) const override;
  /// Drops control pieces. The unknown piece becomes UnigramDefinition::unknown_surface, and byte pieces that are not
  /// valid UTF-8 become U+FFFD.
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::unique_ptr<StreamingDecoder> make_decoder() const override;
  std::string_view piece(std::int32_t id) const override;
  std::optional<std::int32_t> id(std::string_view piece) const override;
  bool is_special(std::int32_t id) const override;
  std::vector<Segmentation> encode_n_best(std::string_view text, std::int32_t most) const override;
  /// Returns the segmentations of encode_n_best() with texts and offsets. If the search is not finished at `deadline`,
  /// returns only the best one.
  std::vector<TextSegmentation> n_best_pieces(std::string_view text, std::int32_t most,
                                              std::optional<Clock::time_point> deadline = std::nullopt) const;

  const UnigramDefinition& definition() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace dragoman::tokenizer
