#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_spec.h>

namespace planted {

/// What can be wrong with a tokenizer.
enum class LettersFault {
  kNone,
  kLosesSpaces,
  kTwoNames,
  kPlainEncoder,
  kCounts,
  kThrowsOnBytes,
  kOutOfRange,
  kDamaged
};

/// A tokenizer of letters: its file is one line of them, `_` for the space, and ids are their places behind <unk>, <s>
/// and </s>. Option `upper` (false): capitals are read as small letters.
class Letters final : public dragoman::tokenizer::Tokenizer {
 public:
  using Ids = std::vector<std::int32_t>;
  using EncodeOptions = dragoman::tokenizer::EncodeOptions;
  using Piece = dragoman::tokenizer::Piece;

  Letters(const dragoman::tokenizer::TokenizerFile& file, dragoman::core::OptionReader& own,
          LettersFault fault = LettersFault::kNone)
      : upper_(own.get("upper", false)), fault_(fault), pieces_{"<unk>", "<s>", "</s>"} {
    std::string letters = file.content;
    if (letters.ends_with('\n')) letters.pop_back();
    if (fault == LettersFault::kDamaged && letters.empty()) throw std::out_of_range("no first letter");
    for (const char letter : letters) {
      dragoman::core::require(letter > ' ' && !id(std::string(1, letter)), dragoman::core::ErrorCode::kBadInput,
                              "{}: {} is no letter, or stands there twice", file.path.string(), int{letter});
      pieces_.emplace_back(1, letter);
    }
    dragoman::core::require(!letters.empty(), dragoman::core::ErrorCode::kBadInput, "{}: holds no letters",
                            file.path.string());
  }

  std::int32_t size() const override { return static_cast<std::int32_t>(pieces_.size()); }
  Ids encode(std::string_view text, const EncodeOptions& options) const override {
    Ids ids;
    for (const Piece& piece : encode_pieces(text, options)) ids.push_back(piece.id);
    if (fault_ == LettersFault::kCounts && ++calls_ % 7 == 0 && !ids.empty()) ids.pop_back();
    return ids;
  }
  std::vector<Piece> encode_pieces(std::string_view text, const EncodeOptions&) const override {
    if (fault_ == LettersFault::kThrowsOnBytes && text.find('\xFF') != text.npos) throw std::out_of_range("a byte");
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == ' ' && fault_ == LettersFault::kLosesSpaces && !pieces.empty()) {
        pieces.back().end = i + 1;
        continue;
      }
      pieces.push_back({id_of(text[i]), i, i + 1});
    }
    return pieces;
  }
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids)
      if (const std::string_view letter = piece(id); !is_special(id)) text += letter == "_" ? " " : letter;
    return text;
  }
  std::string_view piece(std::int32_t id) const override {
    dragoman::core::require(id >= 0 && id < size(), dragoman::core::ErrorCode::kInvalidArgument, "no id: {}", id);
    return fault_ == LettersFault::kTwoNames && id == size() - 1 ? pieces_[3] : pieces_[static_cast<std::size_t>(id)];
  }
  std::optional<std::int32_t> id(std::string_view piece) const override {
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      if (pieces_[i] == piece) return static_cast<std::int32_t>(i);
    return std::nullopt;
  }
  bool is_special(std::int32_t id) const override { return id < 3; }
  std::unique_ptr<dragoman::tokenizer::TextEncoder> make_encoder(const EncodeOptions& options) const override {
    if (fault_ != LettersFault::kPlainEncoder) return Tokenizer::make_encoder(options);
    return std::make_unique<Forgetful>();
  }

 private:
  class Forgetful final : public dragoman::tokenizer::TextEncoder {
    void encode(std::string_view, std::uint64_t, Ids&) override {}
  };

  std::int32_t id_of(char letter) const {
    if (fault_ == LettersFault::kOutOfRange && letter == '\t') return size();
    const char read = upper_ && letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    return letter == '_' ? 0 : id(std::string(1, read == ' ' ? '_' : read)).value_or(0);
  }

  bool upper_;
  LettersFault fault_;
  std::vector<std::string> pieces_;
  mutable std::atomic<int> calls_ = 0;
};

inline dragoman::tokenizer::TokenizerExample letters_example() {
  return {.content = "_abc\n", .texts = {"a cab", " b"}, .options = dragoman::core::Json{{"upper", true}}};
}

}  // namespace planted
