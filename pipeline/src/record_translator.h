#pragma once

#include "line_options.h"
#include "target_terms.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

/// What became of a record.
struct TranslatedRecord {
  Record record;
  bool split_for_length = false;
  /// Parts whose translation reached the length limit.
  std::size_t parts_cut = 0;
  /// Parts whose translation lacks what it must hold.
  std::size_t parts_lacking_terms = 0;
  /// Why there is no translation, where that is no fault of the record.
  std::exception_ptr error;
};

/// Translates records by way of an engine: each is cut into parts, which are requests of their own. Any number of
/// threads may use one.
class RecordTranslator {
 public:
  using Done = std::function<void(TranslatedRecord)>;

  explicit RecordTranslator(const TranslationModel& model)
      : model_(model),
        searches_(std::make_unique<LineSearches>(model)),
        boundaries_(target_word_boundaries(*model.target_tokenizer)) {}

  /// Prepares the record on this thread, waits for room with the client, and returns. `done` is called exactly once, by
  /// a worker or by this thread; what it throws reaches Client::wait() or the caller. `options` leaves nothing out, as
  /// those of record_options().
  void submit(engine::Client& client, Record record, RecordOptions options, Done done) const;

 private:
  TranslationModel model_;
  std::unique_ptr<LineSearches> searches_;
  std::shared_ptr<const decoding::WordBoundaries> boundaries_;
};

/// Of records that say nothing else.
RecordOptions record_options(const TranslationModel& model, const TranslateOptions& options);

}  // namespace dragoman::pipeline
