#pragma once

#include <string>

#include <dragoman/corpus/prepare.h>

namespace dragoman::corpus {

/// Brings texts into one form before they are looked at. Thread-safe.
class TextCleaner {
 public:
  TextCleaner(Normalization normalization, bool squeeze_spaces);
  /// Of well-formed UTF-8.
  void clean(std::string& text) const;

 private:
  void normalize(std::string& text) const;

  const void* normalizer_ = nullptr;  ///< icu::Normalizer2, which ICU owns
  bool squeeze_spaces_;
};

}  // namespace dragoman::corpus
