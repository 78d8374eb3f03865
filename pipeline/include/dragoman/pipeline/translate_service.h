#pragma once

#include <functional>
#include <memory>

#include <dragoman/decoding/decoding_loop.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/pipeline/service.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {

/// What a translation needs of a loaded model. All const, shared by all workers; the owners must outlive the service.
struct TranslationModel {
  const nn::Seq2SeqModel* model = nullptr;
  const tokenizer::Tokenizer* source_tokenizer = nullptr;
  const tokenizer::Tokenizer* target_tokenizer = nullptr;
};

struct TranslateOptions {
  decoding::DecodingOptions decoding{};
  decoding::LoopLimits limits{};
  /// Workers, each with its own decoding loop on one core; 0: as many as the process may keep busy. Where the operating
  /// system refuses to start so many, there are fewer.
  int threads = 0;
  tensor::Device device = tensor::Device::kCpu;
  /// Fill Record::fields with scores, tokens, alignments and alternatives.
  bool details = false;
  /// Whether the model may hold weights that are NaN or infinite; for research. Whoever loads the model looks at it.
  bool allow_non_finite = false;
  /// Replaces the built-in strategies, for one that a plugin registered; called once per worker, by the thread
  /// that calls run().
  std::function<std::unique_ptr<decoding::SearchStrategy>()> make_strategy{};
};

/// Translates records: text in, text out. What has no tokens becomes an empty text; what is longer than the model takes
/// is cut at blanks, translated part by part, and joined again. One worker per core pulls sentences into its pool; a
/// result does not depend on the number of workers or on the order of the records. Memory is bounded: a record enters
/// only while less than kBytesInFlight of text is under way. A record for which the model's scores are not finite
/// numbers fails.
class TranslateService final : public Service {
 public:
  static constexpr std::size_t kBytesInFlight = std::size_t{16} << 20;

  /// `runtime` must outlive the service.
  TranslateService(const runtime::Runtime& runtime, const TranslationModel& model, TranslateOptions options);
  ~TranslateService() override;

  void run(RecordSource& source, RecordSink& sink, std::stop_source stop) override;

  /// Records whose text was cut into parts because it was too long, and translations that reached the length limit.
  void add_counts(LineCounts& counts) const override;

 private:
  const runtime::Runtime* runtime_;
  TranslationModel model_;
  TranslateOptions options_;
  std::uint64_t records_split_ = 0;
  std::uint64_t hit_length_limit_ = 0;
};

}  // namespace dragoman::pipeline
