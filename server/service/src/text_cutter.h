#pragma once

#include "pipeline/sentence_splitter.h"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/text_range.h>

namespace dragoman::server {

/// A sentence of a text.
struct Segment {
  std::string before{};  ///< the text between the previous sentence and this one, as the translation has it
  std::string text{};
};

/// The splitters of the languages that were needed so far. They are kept, since making one takes as long as translating
/// a short sentence with a small model. For use by one thread.
class Splitters {
 public:
  /// Returns the splitter of a language. For a language that ICU does not know, it has the rules of English.
  const std::shared_ptr<pipeline::SentenceSplitter>& get(const std::string& language);

 private:
  std::map<std::string, std::shared_ptr<pipeline::SentenceSplitter>> by_language_;
};

/// Returns the sentences of a fragment of HTML, as ranges of the fragment.
std::vector<core::TextRange> html_sentences(const std::string& html, pipeline::SentenceSplitter& splitter);

/// Cuts a text into sentences, line by line as they are requested, so that a long text does not hold up others. White
/// space between them is kept. One thread at a time.
class TextCutter {
 public:
  /// A longer sentence is cut at a space.
  static constexpr std::size_t kMaxBytesOfSentence = 4000;

  /// A text that is not to be cut is one segment. `spaced`: whether sentences of the translation have spaces between
  /// them.
  TextCutter(std::string text, bool cut, bool spaced, std::shared_ptr<pipeline::SentenceSplitter> splitter);

  /// Returns the next sentence. nullopt at the end.
  std::optional<Segment> next();
  /// Returns the text after the last sentence. Valid at the end.
  const std::string& after() const noexcept { return before_; }

 private:
  void cut_line(std::string_view line);
  void add(std::string_view sentence);

  std::string text_;
  bool cut_;
  bool spaced_;
  std::shared_ptr<pipeline::SentenceSplitter> splitter_;
  std::size_t at_ = 0;  ///< of the next line
  std::string before_;  ///< of the next sentence
  std::deque<Segment> ready_;
};

}  // namespace dragoman::server
