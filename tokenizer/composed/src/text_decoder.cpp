#include "text_decoder.h"

#include "base/find_text.h"
#include "normalizing/growth.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using DecoderKind = DecoderStep::Kind;
using Texts = std::vector<std::string>;

void require_room(std::size_t size, std::size_t limit) {
  core::require(size <= limit, core::ErrorCode::kBadInput,
                "the decoder of this tokenizer makes a text more than {} times as long; correct its Replace steps",
                kMaxGrowth);
}

/// The result has at most `limit` bytes, because a step may write much more than it reads.
void replace_all(std::string& text, std::string_view pattern, std::string_view content, std::size_t limit) {
  std::size_t at = pattern.empty() ? std::string::npos : find_text(text, pattern);
  if (at == std::string::npos) return;
  std::string result;
  std::size_t kept = 0;
  for (; at != std::string::npos; at = find_text(text, pattern, kept)) {
    require_room(result.size() + (at - kept) + content.size(), limit);
    result.append(text, kept, at - kept).append(content);
    kept = at + pattern.size();
  }
  text = result.append(text, kept);
}

void replace_matches(std::string& text, const Matcher& matcher, std::string_view content, std::size_t limit,
                     SearchWork& work) {
  std::string result;
  std::size_t kept = 0;
  const auto replace = [&](std::size_t begin, std::size_t end) {
    require_room(result.size() + (begin - kept) + content.size(), limit);
    result.append(text, kept, begin - kept).append(content);
    kept = end;
  };
  matcher.for_each(text, replace, work);
  text = result.append(text, kept);
}

/// In a run of bytes that is not UTF-8, each byte becomes U+FFFD.
Texts join_bytes(const Texts& texts) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  Texts result;
  std::string bytes;
  const auto finish_run = [&] {
    if (bytes.empty()) return;
    if (core::find_invalid_utf8(bytes) == std::string::npos)
      result.push_back(bytes);
    else
      for (std::size_t i = 0; i < bytes.size(); ++i) result.emplace_back(kReplacement);
    bytes.clear();
  };
  for (const std::string& text : texts) {
    if (const auto byte = byte_of_piece(text)) {
      bytes += static_cast<char>(*byte);
      continue;
    }
    finish_run();
    result.push_back(text);
  }
  finish_run();
  return result;
}

Texts joined(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  return {std::move(all)};
}

void strip(std::string& text, const DecoderStep& step) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < step.start && std::string_view(text).substr(begin).starts_with(step.content); ++i)
    begin += step.content.size();
  std::size_t end = text.size();
  for (std::size_t i = 0; i < step.stop && std::string_view(text).substr(begin, end - begin).ends_with(step.content);
       ++i)
    end -= step.content.size();
  text = text.substr(begin, end - begin);
}

/// Removes spaces before punctuation and contractions like BERT's tokenizer.
void clean_up(std::string& text) {
  static constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [pattern, content] : kRules)
    replace_all(text, pattern, content, std::string::npos);  // no replacement is longer than its pattern
}

void join_word_pieces(Texts& texts, const DecoderStep& step) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0 && texts[i].starts_with(step.pattern))
      texts[i].erase(0, step.pattern.size());
    else if (i > 0)
      texts[i].insert(0, 1, ' ');
    if (step.flag) clean_up(texts[i]);
  }
}

void write_spaces(Texts& texts, const DecoderStep& step) {
  for (std::size_t i = 0; i < texts.size(); ++i)
    replace_all(texts[i], step.pattern, step.flag && i == 0 ? "" : " ", std::string::npos);
}

Texts spell_out_bytes(const Texts& texts) {
  std::string bytes;
  for (const std::string& text : texts) bytes += from_byte_alphabet(text).value_or(text);
  return {std::move(bytes)};
}

}  // namespace

TextDecoder::TextDecoder(const std::vector<DecoderStep>& steps, bool joins_with_spaces)
    : joins_with_spaces_(joins_with_spaces) {
  for (const DecoderStep& step : steps) {
    Step made{step, {}};
    if (step.kind == DecoderKind::kReplaceMatches) made.matcher.emplace(step.pattern);
    steps_.push_back(std::move(made));
  }
}

std::string TextDecoder::decode(Texts texts) const {
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size() + 1;
  const std::size_t limit = most_normalised(bytes);
  SearchWork work(bytes);
  for (const auto& [step, matcher] : steps_) {
    switch (step.kind) {
      case DecoderKind::kReplace:
        for (std::string& text : texts) replace_all(text, step.pattern, step.content, limit);
        break;
      case DecoderKind::kReplaceMatches:
        for (std::string& text : texts) replace_matches(text, *matcher, step.content, limit, work);
        break;
      case DecoderKind::kByteFallback:
        texts = join_bytes(texts);
        break;
      case DecoderKind::kFuse:
        texts = joined(texts);
        break;
      case DecoderKind::kStrip:
        for (std::string& text : texts) strip(text, step);
        break;
      case DecoderKind::kMetaspace:
        write_spaces(texts, step);
        break;
      case DecoderKind::kWordPiece:
        join_word_pieces(texts, step);
        break;
      case DecoderKind::kEndOfWord:
        for (std::size_t i = 0; i < texts.size(); ++i)
          replace_all(texts[i], step.pattern, i + 1 < texts.size() ? " " : "", limit);
        break;
      case DecoderKind::kByteLevel:
        texts = spell_out_bytes(texts);
        break;
    }
    std::size_t size = 0;
    for (const std::string& text : texts) size += text.size();
    require_room(size, limit);
  }
  std::string all;
  for (const std::string& text : texts) {
    if (joins_with_spaces_ && &text != texts.data()) all += ' ';
    all += text;
  }
  return all;
}

}  // namespace dragoman::tokenizer
