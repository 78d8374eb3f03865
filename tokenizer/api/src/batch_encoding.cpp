#include "dragoman/tokenizer/batch_encoding.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

/// Large enough that an encoder's cache of words pays off, and small enough that a small batch is divided among all
/// threads.
constexpr std::int64_t kTextsOfABlock = 64;

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

EncodedTexts join(const std::vector<Block>& blocks, std::size_t texts) {
  EncodedTexts all;
  std::size_t ids = 0;
  for (const Block& block : blocks) {
    if (block.error) throw *block.error;
    ids += block.encoded.ids.size();
  }
  all.ids.reserve(ids);
  all.offsets.reserve(texts + 1);
  for (const Block& block : blocks) {
    const std::size_t begin = all.ids.size();
    all.ids.insert(all.ids.end(), block.encoded.ids.begin(), block.encoded.ids.end());
    for (const std::size_t end : std::span(block.encoded.offsets).subspan(1)) all.offsets.push_back(begin + end);
  }
  return all;
}

}  // namespace

EncodedTexts encode_batch(const Tokenizer& tokenizer, std::span<const std::string_view> texts, core::Executor& executor,
                          const EncodeOptions& options) {
  EncoderPool pool(tokenizer, options);
  std::vector<Block> blocks((texts.size() + kTextsOfABlock - 1) / kTextsOfABlock);
  core::for_each_range(
      executor, static_cast<std::int64_t>(texts.size()), kTextsOfABlock, [&](std::int64_t begin, std::int64_t end) {
        const auto first = static_cast<std::size_t>(begin);
        std::unique_ptr<TextEncoder> encoder = pool.take();
        blocks[first / kTextsOfABlock] = encode_block(
            *encoder, texts.subspan(first, static_cast<std::size_t>(end - begin)), first, options.line + first);
        pool.give_back(std::move(encoder));
      });
  return join(blocks, texts.size());
}

}  // namespace dragoman::tokenizer
