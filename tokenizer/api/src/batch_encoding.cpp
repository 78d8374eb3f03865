#include "dragoman/tokenizer/batch_encoding.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <dragoman/core/error.h>
#include <dragoman/core/huge_pages.h>

namespace dragoman::tokenizer {
namespace {

/// Large enough that an encoder's cache of words pays off, and small enough that a small batch is divided among all
/// threads.
constexpr std::int64_t kTextsOfABlock = 256;

/// A pool with one encoder per concurrent user. Each encoder keeps its cache of words.
class EncoderPool {
 public:
  EncoderPool(const Tokenizer& tokenizer, const EncodeOptions& options) : tokenizer_(tokenizer), options_(options) {}

  std::unique_ptr<TextEncoder> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return tokenizer_.make_encoder(options_);
    std::unique_ptr<TextEncoder> encoder = std::move(free_.back());
    free_.pop_back();
    return encoder;
  }
  void give_back(std::unique_ptr<TextEncoder> encoder) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(encoder));
  }

 private:
  const Tokenizer& tokenizer_;
  EncodeOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<TextEncoder>> free_;
};

/// The result for a block of texts: their ids, or the error of the first text that has one.
struct Block {
  EncodedTexts encoded;
  std::optional<core::Error> error;
};

/// Returns the error of the first text that cannot be encoded.
std::optional<core::Error> first_error(TextEncoder& encoder, std::span<const std::string_view> texts, std::size_t first,
                                       std::uint64_t first_line) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    try {
      encoder.encode(texts[i], first_line + i, ids);
    } catch (const core::Error& error) {
      return core::Error(error.code(), fmt::format("text {}: {}", first + i, error.what()), error.location());
    }
  }
  return std::nullopt;
}

Block encode_block(TextEncoder& encoder, std::span<const std::string_view> texts, std::size_t first,
                   std::uint64_t first_line) {
  Block block;
  try {
    encoder.encode_all(texts, first_line, block.encoded);
  } catch (const core::Error& error) {
    if (error.code() == core::ErrorCode::kInterrupted) throw;
    block.error = first_error(encoder, texts, first, first_line);
    if (!block.error) throw;
  }
  return block;
}

EncodedTexts join(std::vector<Block>& blocks, std::size_t texts, core::Executor& executor) {
  EncodedTexts all;
  std::vector<std::size_t> begins;
  begins.reserve(blocks.size());
  std::size_t ids = 0;
  for (const Block& block : blocks) {
    if (block.error) throw *block.error;
    begins.push_back(ids);
    ids += block.encoded.ids.size();
  }
  all.ids.reserve(ids);
  core::prefer_huge_pages(all.ids.data(), ids * sizeof(std::int32_t));
  all.ids.resize(ids);
  all.offsets.resize(texts + 1);
  executor.for_each(static_cast<std::int64_t>(blocks.size()), [&](std::int64_t number) {
    const auto i = static_cast<std::size_t>(number);
    const EncodedTexts encoded = std::move(blocks[i].encoded);
    std::ranges::copy(encoded.ids, all.ids.begin() + static_cast<std::ptrdiff_t>(begins[i]));
    std::ranges::transform(std::span(encoded.offsets).subspan(1), all.offsets.begin() + 1 + number * kTextsOfABlock,
                           [&](std::size_t end) { return begins[i] + end; });
  });
  return all;
}

}  // namespace

EncodedTexts encode_batch(const Tokenizer& tokenizer, std::size_t count, TextsOfRange texts, core::Executor& executor,
                          const EncodeOptions& options) {
  EncoderPool pool(tokenizer, options);
  std::vector<Block> blocks((count + kTextsOfABlock - 1) / kTextsOfABlock);
  core::for_each_range(executor, static_cast<std::int64_t>(count), kTextsOfABlock,
                       [&](std::int64_t begin, std::int64_t end) {
                         const auto first = static_cast<std::size_t>(begin);
                         const std::span<const std::string_view> own = texts(first, static_cast<std::size_t>(end));
                         std::unique_ptr<TextEncoder> encoder = pool.take();
                         blocks[first / kTextsOfABlock] = encode_block(*encoder, own, first, options.line + first);
                         pool.give_back(std::move(encoder));
                       });
  return join(blocks, count, executor);
}

EncodedTexts encode_batch(const Tokenizer& tokenizer, std::span<const std::string_view> texts, core::Executor& executor,
                          const EncodeOptions& options) {
  const auto range = [&](std::size_t begin, std::size_t end) { return texts.subspan(begin, end - begin); };
  return encode_batch(tokenizer, texts.size(), range, executor, options);
}

}  // namespace dragoman::tokenizer
