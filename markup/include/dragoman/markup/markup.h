#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/text_range.h>

namespace dragoman::markup {

/// A text of a document to translate: the text of a block or an attribute value, without tags and with decoded
/// character references. It has no whitespace at its ends and single spaces inside.
struct Segment {
  std::string text{};
  /// The positions of inline tags in `text`, ascending. A sentence without tags inside needs no alignment, because no
  /// tag is placed between the words of its translation.
  std::vector<std::uint32_t> tags{};

  /// Returns whether there is a tag between the bytes of the range.
  bool has_tags_within(const core::TextRange& range) const;
};

/// A share of a stretch of the translation that comes from a stretch of the source, in bytes of both texts. Usually
/// each stretch is a token, and the weight is attention.
struct Link {
  std::uint32_t source_begin = 0;
  std::uint32_t source_end = 0;
  std::uint32_t target_begin = 0;
  std::uint32_t target_end = 0;
  float weight = 1;
};

struct TranslatedSegment {
  std::string text{};
  /// In any order. Empty: words are assumed to keep their relative positions.
  std::vector<Link> links{};
};

/// A fragment of HTML, or of XML with inline tags, that can be translated. It never fails for malformed markup. Tags
/// and everything else that is not translated keep their bytes. Thread-safe after construction.
///
///     const markup::Document document("<p><b>Ein Hund</b> läuft.</p>");
///     // document.segments().front().text is "Ein Hund läuft."
///     const std::vector<markup::TranslatedSegment> translations = {{.text = "A dog runs."}};  // one per segment
///     const std::string html = document.assemble(translations);
///
/// A block element ends a segment; so does an inline element that contains a block element. Elements whose content is
/// not translated, such as `code` or those with translate="no", keep their bytes; short ones are part of the segment's
/// text, so that the translator sees them.
class Document {
 public:
  /// Error{kBadInput} for a source of 2 GB or more.
  explicit Document(std::string source);
  ~Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;

  const std::string& source() const noexcept;
  /// In the order of the source.
  const std::vector<Segment>& segments() const noexcept;

  /// Returns the sentences of a text, as ascending ranges of it.
  using SplitText = std::function<std::vector<core::TextRange>(std::string_view text)>;

  /// Splits the text of each segment into sentences. Returns their positions in the source, in ascending order of their
  /// beginnings. The sentence around a tag contains the sentences of the tag's attributes.
  std::vector<core::TextRange> find_sentences(const SplitText& split) const;
  /// Returns the sentences of segment `number`, as ranges of its text, by the ranges that find_sentences() has
  /// returned. Ranges of other segments have no effect. Without a range in this segment, the segment is one sentence.
  std::vector<core::TextRange> sentences(std::size_t number, std::span<const core::TextRange> ranges) const;

  /// Returns the document with these translations of its segments. Each tag of the source occurs once, and elements are
  /// nested as in the source. An element surrounds the words that are aligned with its words. An element without such
  /// words is empty.
  std::string assemble(std::span<const TranslatedSegment> translations) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::markup
