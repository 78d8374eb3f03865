#pragma once

#include "translation_work.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

/// Reports the known part of a record's translation while it is computed. It joins the decided text of the parts, which
/// several workers translate at a time. Thread-safe; calls of a record's callbacks do not overlap.
class RecordStream {
 public:
  /// All arguments must outlive the object. `options` must have a search.
  RecordStream(const ModelView& model, const RecordOptions& options, const TranslationWork& work);

  void on_partial(std::size_t part, const engine::PartialTranslation& partial);
  /// Reports that the part has its translation.
  void on_part(std::size_t part);

 private:
  struct Part {
    std::unique_ptr<tokenizer::StreamingDecoder> decoder{};
    std::size_t tokens = 0;  ///< number of tokens that it has received
    bool held = false;       ///< the rest is known at the end only
    std::string text{};      ///< decided
    bool done = false;
  };

  void decode(Part& part, const engine::PartialTranslation& partial) const;
  void decode_pieces(Part& part, const engine::PartialTranslation& partial) const;
  void append_known();
  std::string tail_of_open(const engine::PartialTranslation& partial) const;
  /// Calls the callback. `partial` belongs to the open part, if that is in progress.
  void tell(const engine::PartialTranslation* partial);

  const ModelView& model_;
  const RecordOptions& options_;
  const TranslationWork& work_;
  std::mutex mutex_;
  std::vector<Part> parts_;
  std::size_t open_ = 0;          ///< the first part that is not done
  std::size_t told_of_open_ = 0;  ///< bytes
  std::string known_;             ///< only grows
};

}  // namespace dragoman::pipeline
