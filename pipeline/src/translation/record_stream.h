#pragma once

#include "translation_work.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

/// Tells what is known of a record's translation while it is made: joins what is decided of its parts, which several
/// workers translate at a time. Thread-safe; calls of a record's callbacks do not overlap.
class RecordStream {
 public:
  /// All must outlive it; `options` with a search.
  RecordStream(const ModelView& model, const RecordOptions& options, const TranslationWork& work);

  void on_partial(std::size_t part, const engine::PartialTranslation& partial);
  /// The part has its translation.
  void on_part(std::size_t part);

 private:
  struct Part {
    std::unique_ptr<tokenizer::StreamingDecoder> decoder{};
    std::size_t tokens = 0;  ///< that it has been given
    bool held = false;       ///< what follows is known at the end only
    std::string text{};      ///< decided
    bool done = false;
  };

  void decode(Part& part, const engine::PartialTranslation& partial) const;
  void decode_pieces(Part& part, const engine::PartialTranslation& partial) const;
  void append_known();
  std::string tail_of_open(const engine::PartialTranslation& partial) const;
  /// `partial`: of the open part, if it is under way.
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
