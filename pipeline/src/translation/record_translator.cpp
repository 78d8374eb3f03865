#include "record_translator.h"

#include "part_markup.h"
#include "record_stream.h"
#include "translation_work.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>

#include <dragoman/core/error.h>

namespace dragoman::pipeline {
namespace {

/// A record between submit() and its end. Several workers finish its parts at a time.
class RecordUnderWay {
 public:
  RecordUnderWay(ModelView model, LineSearches& searches, std::shared_ptr<const decoding::WordBoundaries> boundaries,
                 Record record, RecordOptions options, RecordTranslator::Done done)
      : model_(std::move(model)),
        boundaries_(std::move(boundaries)),
        options_(std::move(options)),
        done_(std::move(done)) {
    if (*options_.markup == Markup::kHtml) options_.on_partial = nullptr;
    const LineDemands demands = read_line_options(record, searches, options_);
    work_ = prepare_translation(model_, options_, demands, std::move(record));
    open_ = work_.parts.size();
    if (options_.on_partial || options_.on_sentence) stream_.emplace(model_, options_, work_);
  }

  std::size_t parts() const { return work_.parts.size(); }

  engine::TranslationRequest request_of(std::size_t part) {
    // Draws are keyed by line and part. Keys of different lines are distinct for up to 4096 parts per line.
    const bool constrained = !work_.parts[part].constraints.empty();
    const bool source_is_kept = *options_.details || options_.on_translations || options_.attention->kind;
    return {.source = source_is_kept ? work_.parts[part].source : std::move(work_.parts[part].source),
            .target_prefix = work_.parts[part].target_prefix,
            .constraints = work_.parts[part].constraints,
            .boundaries = constrained ? boundaries_ : nullptr,
            .line = work_.record.line * 4096 + part % 4096,
            .search = options_.plan,
            .shortlist = model_.shortlist,
            .inner = work_.parts[part].has_tags ? alignment_request() : options_.attention->inner(),
            .stop = options_.stop,
            .on_partial = {}};
  }
  bool tells_partials() const { return options_.on_partial != nullptr; }

  void tell(std::size_t part, const engine::PartialTranslation& partial) { stream_->on_partial(part, partial); }

  void finish_part(std::size_t part, engine::TranslationResult result) {
    try {
      if (result.error) std::rethrow_exception(result.error);
      pipeline::finish_part(model_, options_, std::move(result), work_.parts[part]);
      if (stream_) stream_->on_part(part);
    } catch (...) {
      keep(std::current_exception());
    }
    close_parts(1);
  }

  void fail_parts(std::size_t count, std::exception_ptr error) {
    keep(std::move(error));
    close_parts(count);
  }

  /// Completes the record when no part is open any more.
  void finish() {
    result_.split_for_length = work_.split_for_length;
    result_.has_unknown_pieces = work_.has_unknown_pieces;
    result_.error = error_;
    if (!result_.error) {
      try {
        result_.parts_cut = finish_translation(model_, options_, work_);
        for (const TranslationPart& part : work_.parts) result_.parts_lacking_terms += part.lacking.empty() ? 0 : 1;
      } catch (...) {
        result_.error = std::current_exception();
      }
    }
    result_.record = std::move(work_.record);
    done_(std::move(result_));
  }

 private:
  void close_parts(std::size_t count) {
    if (open_.fetch_sub(count) == count) finish();
  }
  void keep(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }

  ModelView model_;
  std::shared_ptr<const decoding::WordBoundaries> boundaries_;
  RecordOptions options_;
  RecordTranslator::Done done_;
  TranslationWork work_;
  std::optional<RecordStream> stream_;
  std::atomic<std::size_t> open_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
  /// A record allocates memory. It is made before the work begins, because done_ must be called when there is no more
  /// memory, too: a caller that waits for it would wait for ever.
  TranslatedRecord result_;
};

static_assert(std::is_nothrow_move_constructible_v<TranslatedRecord> && std::is_nothrow_move_assignable_v<Record>);

}  // namespace

ModelView RecordTranslator::view_for(const RecordOptions& options) const {
  ModelView view = model_;
  const auto get = [&](std::optional<tokenizer::PieceLines>& lines, const tokenizer::Tokenizer& tokenizer) {
    const std::lock_guard lock(pieces_->mutex);
    return lines ? &*lines : &lines.emplace(tokenizer);
  };
  if (*options.input_pieces) view.source_pieces = get(pieces_->source, *view.source_tokenizer);
  if (*options.output_pieces) view.target_pieces = get(pieces_->target, *view.target_tokenizer);
  return view;
}

void RecordTranslator::submit(engine::Client& client, Record record, RecordOptions options, Done done) const {
  const auto under_way = std::make_shared<RecordUnderWay>(view_for(options), *searches_, boundaries_, std::move(record),
                                                          std::move(options), std::move(done));
  const std::size_t parts = under_way->parts();
  if (parts == 0) return under_way->finish();
  for (std::size_t part = 0; part < parts; ++part) {
    try {
      engine::TranslationRequest request = under_way->request_of(part);
      if (under_way->tells_partials())
        request.on_partial = [under_way, part](const engine::PartialTranslation& partial) {
          under_way->tell(part, partial);
        };
      client.submit(std::move(request), [under_way, part](engine::TranslationResult result) {
        under_way->finish_part(part, std::move(result));
      });
    } catch (...) {
      return under_way->fail_parts(parts - part, std::current_exception());
    }
  }
}

}  // namespace dragoman::pipeline
