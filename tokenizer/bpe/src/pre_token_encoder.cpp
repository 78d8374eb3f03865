#include "pre_token_encoder.h"

namespace dragoman::tokenizer {

void PreTokenEncoder::encode(std::string_view text, std::uint64_t /*line*/, std::vector<std::int32_t>& ids) {
  pre_tokenizer_.for_each_pre_token(text, options_.match_special_tokens, false, [&](const PreToken& token) {
    if (token.added_token >= 0)
      ids.push_back(token.added_token);
    else
      append_word(token.text, ids);
  });
}

void PreTokenEncoder::append_word(std::string_view word, std::vector<std::int32_t>& ids) {
  const WordKey key = WordKey::of(word);
  const std::uint8_t* known = word.empty() ? nullptr : cache_.find(word, key, nullptr);
  if (known != nullptr) return PackedIds(known).append_to(ids);
  if (options_.mode == EncodingMode::kExact)
    model_.encode_rare_word(word, buffers_);  // common words are cached
  else
    model_.encode_word(word, options_, buffers_);
  const std::size_t first = ids.size();
  for (const Symbol& symbol : buffers_.word) ids.push_back(symbol.id);
  const std::span<const std::int32_t> encoded = std::span(ids).subspan(first);
  std::uint8_t packed[WordCache::kMaxBytes];
  if (!word.empty() && encoded.size() <= PackedIds::most(sizeof packed))
    cache_.insert(word, key, PackedIds::pack(encoded, packed));
}

}  // namespace dragoman::tokenizer
