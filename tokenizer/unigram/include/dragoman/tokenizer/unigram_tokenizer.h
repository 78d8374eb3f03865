#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

struct UnigramPiece {
  /// The numbers are those of SentencePiece's files.
  enum class Type : std::uint8_t {
    kNormal = 1,
    kUnknown = 2,      ///< stands for characters that no piece holds; one piece of a model is of this type
    kControl = 3,      ///< `<s>` and its like: never made from text unless asked for
    kUserDefined = 4,  ///< always one piece where its text occurs, and kept from normalisation
    kUnused = 5,       ///< has an id, but is never made from text
    kByte = 6,         ///< `<0x00>` ... `<0xFF>`
  };
  std::string text;  ///< valid UTF-8, not empty, unique
  float score = 0;   ///< logarithm of its probability
  Type type = Type::kNormal;
};

/// A unigram language model of pieces (Kudo 2018) with the normalisation of SentencePiece.
struct UnigramDefinition {
  std::vector<UnigramPiece> pieces;  ///< by id
  bool byte_fallback = false;        ///< an unknown character becomes its UTF-8 bytes `<0xNN>`
  /// What the unknown piece decodes to.
  std::string unknown_surface = " \xE2\x81\x87 ";
  std::string normalizer_name = "identity";  ///< of the character map
  std::string character_map = {};   ///< SentencePiece's `precompiled_charsmap`; empty: characters stay as they are
  bool dummy_prefix = true;         ///< a space is put in front of a text that is not empty
  bool remove_extra_spaces = true;  ///< at both ends, and all but one in between
  bool escape_spaces = true;        ///< spaces are written as U+2581
  bool space_as_suffix = false;     ///< the dummy prefix goes behind the text
  /// A run of unknown characters that is, as a whole, the text of an unused piece is that piece: as where the library's
  /// pieces are looked up in a vocabulary as texts.
  bool unknown_by_text = false;
};

/// Cuts a text into the pieces whose scores have the greatest sum, as the SentencePiece library does: the ids, the
/// offsets and the decoded text are the same, and so a byte that is not UTF-8 is read as U+FFFD. The unknown and the
/// control pieces are special.
///
/// There are no merges to follow or to leave out: encoding in another mode than kExact or kSample throws
/// Error{kUnsupported}.
class UnigramTokenizer final : public Tokenizer {
 public:
  /// Checks the definition and builds the tables. `name` stands in front of error messages. Throws Error{kBadInput},
  /// or Error{kUnsupported} for a piece that holds NUL.
  explicit UnigramTokenizer(UnigramDefinition definition, const std::string& name = "tokenizer");
  ~UnigramTokenizer() override;
  UnigramTokenizer(UnigramTokenizer&&) noexcept;
  UnigramTokenizer& operator=(UnigramTokenizer&&) noexcept;

  std::int32_t size() const override;
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const override;
  std::vector<Piece> encode_pieces(std::string_view text, const EncodeOptions& options = {}) const override;
  std::vector<std::string> encode_as_text(std::string_view text, const EncodeOptions& options = {}) const override;
  std::unique_ptr<TextEncoder> make_encoder(const EncodeOptions& options = {}) const override;
  /// Control pieces are left out; the unknown piece gives UnigramDefinition::unknown_surface, and byte pieces that are
  /// not UTF-8 give U+FFFD.
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::unique_ptr<StreamingDecoder> make_decoder() const override;
  std::string_view piece(std::int32_t id) const override;
  std::optional<std::int32_t> id(std::string_view piece) const override;
  bool is_special(std::int32_t id) const override;
  std::vector<Segmentation> encode_n_best(std::string_view text, std::int32_t most) const override;

  const UnigramDefinition& definition() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace dragoman::tokenizer
