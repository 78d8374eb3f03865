#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dragoman/tensor/ragged.h>

namespace dragoman::decoding {

/// Sentences [begin, end) of a batch, as a separate batch.
class BatchPiece {
 public:
  BatchPiece(const tensor::RaggedTokens& batch, std::int64_t begin, std::int64_t end) {
    const std::int32_t first = batch.offsets[static_cast<std::size_t>(begin)];
    for (std::int64_t b = begin; b <= end; ++b) offsets_.push_back(batch.offsets[static_cast<std::size_t>(b)] - first);
    tokens_ = batch.tokens.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(offsets_.back()));
  }
  tensor::RaggedTokens view() const { return {tokens_, offsets_}; }

 private:
  std::span<const std::int32_t> tokens_;
  std::vector<std::int32_t> offsets_;
};

/// Calls body(sources, targets) with consecutive sentences that have at most `most_tokens` source and target tokens in
/// total, or with one sentence that has more.
template <class Body>
void for_each_piece(const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets, std::int64_t most_tokens,
                    const Body& body) {
  const auto tokens_of = [&](std::int64_t b) { return sources.length(b) + targets.length(b) + 1; };
  for (std::int64_t begin = 0, end = 0; begin < sources.batch(); begin = end) {
    std::int64_t tokens = 0;
    do tokens += tokens_of(end++);
    while (end < sources.batch() && tokens + tokens_of(end) <= most_tokens);
    body(BatchPiece(sources, begin, end).view(), BatchPiece(targets, begin, end).view());
  }
}

}  // namespace dragoman::decoding
