#pragma once

#include "stream/line_options.h"
#include "target_terms.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

/// Translates records with an engine. Each record is cut into parts, and each part is a separate request. Thread-safe.
class RecordTranslator {
 public:
  using Done = std::function<void(TranslatedRecord)>;

  explicit RecordTranslator(const ModelView& model)
      : model_(model),
        searches_(std::make_unique<LineSearches>(model)),
        boundaries_(target_word_boundaries(*model.target_tokenizer)) {}

  /// Prepares the record on this thread, waits for room with the client, and returns. `done` is called exactly once, by
  /// a worker or by this thread; an exception that it throws reaches Client::wait() or the caller. Every member of
  /// `options` but `search` must be set, as record_options() does. Error{kInvalidArgument} if the options are invalid.
  void submit(engine::Client& client, Record record, RecordOptions options, Done done) const;

 private:
  ModelView model_;
  std::unique_ptr<LineSearches> searches_;
  std::shared_ptr<const decoding::WordBoundaries> boundaries_;
};

/// Returns the options of records without options in their fields.
RecordOptions record_options(const ModelView& model, const TranslateOptions& options);

}  // namespace dragoman::pipeline
