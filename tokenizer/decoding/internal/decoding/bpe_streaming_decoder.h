#pragma once

#include "decoding/bpe_decoder.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Throws Error{kInvalidArgument} unless 0 <= id < size.
void check_id(std::int32_t id, std::int32_t size);

/// BpeDecoder::decode() bit by bit: each of its steps keeps the little that it may need of what comes next.
class BpeStreamingDecoder final : public StreamingDecoder {
 public:
  /// `decoder` must outlive this; `size` is the number of pieces.
  BpeStreamingDecoder(const BpeDecoder& decoder, std::int32_t size);
  void decode(std::int32_t id, std::string& text) override;
  void decode_text(std::string_view piece, std::string& text) override;
  void finish(std::string& text) override;

 private:
  void add_surface(std::string_view surface, bool ends_word, std::string& text);
  void add(std::string_view joined, std::string& text);
  void add_unescaped(std::string_view joined, std::string& text);
  void drop_spaces_after_symbols(std::string_view joined);
  bool strip_start(bool more);
  void give_whole_characters(std::string& text);

  const BpeDecoder& decoder_;
  std::int32_t size_;
  bool first_ = true;         // no token but special ones has come
  bool space_waits_ = false;  // of a piece that ends a word, until something follows
  std::string escaped_;       // joined, and perhaps the beginning of an escape
  std::string before_;        // the end of what has been joined, at least as long as the longest symbol
  std::size_t stripped_ = 0;  // how often
  bool stripping_ = true;     // nothing has been given yet
  std::string waiting_;       // joined and not given
};

}  // namespace dragoman::tokenizer
