#include "unit_encoder.h"

namespace dragoman::tokenizer {

void UnitEncoder::encode(std::string_view text, std::uint64_t /*line*/, std::vector<std::int32_t>& ids) {
  splitter_.for_each_unit(text, options_.match_special_tokens, false, [&](const TextUnit& unit) {
    if (unit.added_token >= 0)
      ids.push_back(unit.added_token);
    else
      append_word(unit.text, ids);
  });
}

void UnitEncoder::append_word(std::string_view word, std::vector<std::int32_t>& ids) {
  const WordKey key = WordKey::of(word);
  const WordCache::Ids known = cache_.find(word, key);
  if (known.data != nullptr) {
    ids.insert(ids.end(), known.data, known.data + known.size);
    return;
  }
  model_.encode_word(word, options_, buffers_);
  const std::size_t first = ids.size();
  for (const Symbol& symbol : buffers_.word) ids.push_back(symbol.id);
  cache_.insert(word, key, std::span(ids).subspan(first));
}

}  // namespace dragoman::tokenizer
