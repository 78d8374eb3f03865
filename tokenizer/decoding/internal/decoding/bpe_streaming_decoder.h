#pragma once

#include "decoding/bpe_decoder.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Throws Error{kInvalidArgument} unless 0 <= id < size.
void check_id(std::int32_t id, std::int32_t size);

/// BpeDecoder::decode() for a stream of ids. Each step holds back the little text whose result depends on later ids.
class BpeStreamingDecoder final : public StreamingDecoder {
 public:
  /// `decoder` must outlive the object. `size` is the number of pieces.
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
  bool first_ = true;         // only special tokens have come so far
  bool space_waits_ = false;  // the space of a piece that ends a word, until more text follows
  std::string escaped_;       // concatenated, possibly the beginning of an escape
  std::string before_;        // the end of the concatenated text, at least as long as the longest symbol
  std::size_t stripped_ = 0;  // the number of times
  bool stripping_ = true;     // no text has been passed on yet
  std::string waiting_;       // concatenated, but not passed on
};

}  // namespace dragoman::tokenizer
