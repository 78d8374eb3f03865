#pragma once

#include "bpe/bpe_model.h"
#include "definition/composed_definition.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// A piece of a word, and the number of the word's bytes that it covers.
struct WordPiece {
  std::int32_t id;
  std::size_t length;
  /// The bytes before and after it that have the same offsets in the `tokenizers` library.
  std::size_t before = 0;
  std::size_t after = 0;
  bool shows_text = false;  ///< the library shows the text that it covers, and not the piece
};

/// Converts words to pieces. Immutable; each thread needs its own buffers.
class WordModel {
 public:
  class Buffers {
   public:
    virtual ~Buffers() = default;
  };

  virtual ~WordModel() = default;
  virtual std::unique_ptr<Buffers> make_buffers() const { return std::make_unique<Buffers>(); }
  /// Throws Error{kUnsupported} for a mode that the model lacks.
  virtual void check(const EncodeOptions& options) const;
  /// Appends the pieces of a word that is not empty. The sum of their lengths is the word's length, or less if
  /// characters are dropped (BpeDefinition::drops_unknown).
  virtual void encode(std::string_view word, const EncodeOptions& options, Buffers& buffers,
                      std::vector<WordPiece>& out) const = 0;
};

/// `definition` must outlive the model. Throws Error{kBadInput} that begins with `name`.
std::unique_ptr<WordModel> make_word_model(const ComposedDefinition& definition, const std::string& name);

}  // namespace dragoman::tokenizer
