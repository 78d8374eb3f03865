#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/pipeline_api/record.h>

namespace dragoman::pipeline {

/// Finds sentence boundaries with ICU's rules (Unicode Standard Annex 29) for a locale. There is no boundary after
/// abbreviations, initials and, in some languages, ordinal numbers: see Abbreviations. Not thread-safe: one per thread.
class SentenceSplitter {
 public:
  /// Error{kInvalidArgument} for a locale whose language ICU does not know.
  explicit SentenceSplitter(const std::string& locale);
  ~SentenceSplitter();
  SentenceSplitter(SentenceSplitter&&) noexcept;
  SentenceSplitter& operator=(SentenceSplitter&&) noexcept;

  /// Byte ranges of the sentences, without the white space between them. `text` is valid UTF-8.
  std::vector<TextRange> split(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
