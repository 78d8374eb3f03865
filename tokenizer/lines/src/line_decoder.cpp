#include "lines/line_decoder.h"

#include "lines/line_encoder.h"
#include "lines/words.h"

#include <charconv>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::tokenizer {
namespace {

std::optional<std::int32_t> parse_id(std::string_view word, const Tokenizer& tokenizer) {
  std::int32_t id = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  return whole && id >= 0 && id < tokenizer.size() ? std::optional(id) : std::nullopt;
}

}  // namespace

LineDecoder::LineDecoder(const Tokenizer& tokenizer, LineFormat format) : tokenizer_(tokenizer) {
  if (format != LineFormat::kPieces) return;
  mark_ = continuation_mark(tokenizer);
  pieces_.emplace(tokenizer);
}

std::string LineDecoder::decode(std::string_view line, core::FunctionRef<std::string(std::size_t begin)> where) const {
  if (!mark_.empty()) return join_continued(line, mark_);
  std::vector<std::int32_t> ids;
  bool all_have_ids = true;
  for_each_word(line, [&](std::string_view word, std::size_t begin) {
    const std::optional<std::int32_t> id = pieces_ ? pieces_->id(word) : parse_id(word, tokenizer_);
    if (!id && !pieces_)
      core::fail(core::ErrorCode::kBadInput, "{}: {} is not an id from 0 to {}", where(begin), core::Quoted{word},
                 tokenizer_.size() - 1);
    if (!id && pieces_->unknown() < 0)
      core::fail(core::ErrorCode::kBadInput, "{}: {} is not a piece of this tokenizer", where(begin),
                 core::Quoted{word});
    all_have_ids = all_have_ids && id;
    ids.push_back(id.value_or(-1));
  });
  return all_have_ids ? tokenizer_.decode(ids) : pieces_->decode(line);
}

}  // namespace dragoman::tokenizer
