#pragma once

#include <string>

#include <dragoman/corpus/prepare.h>

namespace dragoman::corpus {

/// Normalises texts before they are filtered. Thread-safe.
class TextCleaner {
 public:
  TextCleaner(Normalization normalization, bool squeeze_spaces);
  /// Normalises `text` in place. It must be well-formed UTF-8.
  void clean(std::string& text) const;

 private:
  void normalize(std::string& text) const;

  const void* normalizer_ = nullptr;  ///< an icu::Normalizer2 that ICU owns
  bool squeeze_spaces_;
};

}  // namespace dragoman::corpus
