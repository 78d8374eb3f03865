#pragma once

#include "stream/line_options.h"
#include "target_terms.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

/// Translates records with an engine. Each record is cut into parts, and each part is a separate request. Thread-safe.
class RecordTranslator {
 public:
  using Done = std::function<void(TranslatedRecord)>;

  explicit RecordTranslator(const ModelView& model)
      : model_(model),
        searches_(std::make_unique<LineSearches>(model)),
        pieces_(std::make_unique<Pieces>()),
        boundaries_(target_word_boundaries(*model.target_tokenizer)) {}

  /// Prepares the record on this thread, waits until the client has room, and returns. `done` is called exactly once,
  /// by a worker or by this thread. An exception that it throws is rethrown by Client::wait() or to the caller. Every
  /// member of `options` except `search` must be set, as record_options() does. Error{kInvalidArgument} if the options
  /// are invalid.
  void submit(engine::Client& client, Record record, RecordOptions options, Done done) const;

  /// Returns the model with the lines of pieces that these options require. Error{kUnsupported} as PieceLines.
  ModelView view_for(const RecordOptions& options) const;

 private:
  /// Created on first use, because that visits every piece of a vocabulary.
  struct Pieces {
    std::mutex mutex;
    std::optional<tokenizer::PieceLines> source;
    std::optional<tokenizer::PieceLines> target;
  };

  ModelView model_;
  std::unique_ptr<LineSearches> searches_;
  std::unique_ptr<Pieces> pieces_;
  std::shared_ptr<const decoding::WordBoundaries> boundaries_;
};

/// Error{kInvalidArgument} for a search that requires text where records are pieces.
void require_text_for(const decoding::DecodingOptions& search, bool input_pieces, bool output_pieces);

/// Error{kInvalidArgument} for markup together with options that it excludes.
void require_possible_markup(Markup markup, bool input_pieces, bool output_pieces, const AttentionSettings& attention);

/// Returns the options of records without options in their fields.
RecordOptions record_options(const ModelView& model, const TranslateOptions& options);

}  // namespace dragoman::pipeline
