#include "text_cutter.h"

#include <algorithm>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>
#include <dragoman/markup/markup.h>

namespace dragoman::server {
namespace {

/// Returns where to cut a sentence that is too long: after a space, else between characters.
std::size_t place_to_cut(std::string_view sentence) {
  const std::size_t most = TextCutter::kMaxBytesOfSentence;
  const std::size_t space = sentence.substr(0, most).find_last_of(" \t");
  if (space != std::string_view::npos && space >= most / 2) return space;
  std::size_t place = most;
  while (place > 1 && (static_cast<unsigned char>(sentence[place]) & 0xC0U) == 0x80U) --place;
  return place;
}

}  // namespace

const std::shared_ptr<pipeline::SentenceSplitter>& Splitters::get(const std::string& language) {
  auto& splitter = by_language_[language];
  if (splitter != nullptr) return splitter;
  try {
    splitter = std::make_shared<pipeline::SentenceSplitter>(language);
  } catch (const core::Error&) {
    splitter = std::make_shared<pipeline::SentenceSplitter>("en");
  }
  return splitter;
}

std::vector<core::TextRange> html_sentences(const std::string& html, pipeline::SentenceSplitter& splitter) {
  return markup::Document(html).find_sentences([&](std::string_view text) { return splitter.split(text); });
}

TextCutter::TextCutter(std::string text, bool cut, bool spaced, std::shared_ptr<pipeline::SentenceSplitter> splitter)
    : text_(std::move(text)), cut_(cut), spaced_(spaced), splitter_(std::move(splitter)) {}

std::optional<Segment> TextCutter::next() {
  while (ready_.empty() && at_ < text_.size()) {
    const std::string_view rest = std::string_view(text_).substr(at_);
    if (!cut_) {
      at_ = text_.size();
      ready_.push_back({.text = std::move(text_)});
      text_.clear();
      break;
    }
    const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
    cut_line(rest.substr(0, end));
    const std::size_t next = std::min(rest.find_first_not_of("\r\n", end), rest.size());
    before_ += rest.substr(end, next - end);
    at_ += next;
    if (!ready_.empty()) break;
  }
  if (ready_.empty()) return std::nullopt;
  Segment segment = std::move(ready_.front());
  ready_.pop_front();
  return segment;
}

void TextCutter::cut_line(std::string_view line) {
  std::size_t done = 0;
  bool first = true;
  for (const core::TextRange& range : splitter_->split(line)) {
    std::string between(line.substr(done, range.begin - done));
    if (!first && spaced_ && between.empty()) between = " ";
    if (!first && !spaced_ && between == " ") between.clear();
    before_ += between;
    add(line.substr(range.begin, range.end - range.begin));
    done = range.end;
    first = false;
  }
  before_ += line.substr(done);
}

void TextCutter::add(std::string_view sentence) {
  while (sentence.size() > kMaxBytesOfSentence) {
    const std::size_t place = place_to_cut(sentence);
    ready_.push_back({std::exchange(before_, {}), std::string(sentence.substr(0, place))});
    sentence.remove_prefix(place);
    const std::size_t space = core::leading_white_space(sentence);
    before_ = sentence.substr(0, space);
    sentence.remove_prefix(space);
  }
  if (!sentence.empty()) ready_.push_back({std::exchange(before_, {}), std::string(sentence)});
}

}  // namespace dragoman::server
