#pragma once

#include <cstddef>
#include <exception>
#include <functional>

#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

/// What became of a record.
struct TranslatedRecord {
  Record record;
  bool split_for_length = false;
  /// Parts whose translation reached the length limit.
  std::size_t parts_cut = 0;
  /// Why there is no translation, where that is no fault of the record.
  std::exception_ptr error;
};

/// Translates records by way of an engine: each is cut into parts, which are requests of their own. Immutable.
class RecordTranslator {
 public:
  using Done = std::function<void(TranslatedRecord)>;

  explicit RecordTranslator(const TranslationModel& model) : model_(model) {}

  /// Prepares the record on this thread, waits for room with the client, and returns. `done` is called exactly once, by
  /// a worker or by this thread; what it throws reaches Client::wait() or the caller. `options` has a search.
  void submit(engine::Client& client, Record record, RecordOptions options, Done done) const;

 private:
  TranslationModel model_;
};

}  // namespace dragoman::pipeline
