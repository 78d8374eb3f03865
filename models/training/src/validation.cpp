#include "dragoman/training/validation.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <dragoman/core/error.h>
#include <dragoman/decoding/decoding_loop.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/evaluation/bleu.h>
#include <dragoman/evaluation/chrf.h>
#include <dragoman/training/loss.h>

namespace dragoman::training {
namespace {

/// Sentences that one task decodes. Enough to keep a pool of rows full, few enough that several threads share a
/// validation set of a thousand.
constexpr std::size_t kGroup = 96;

decoding::DecodingOptions decoding_options(const ValidationConfig& config) {
  decoding::DecodingOptions options;
  options.strategy = config.beam_size > 1 ? "beam" : "greedy";
  options.beam_size = config.beam_size;
  options.length_penalty.alpha = config.length_penalty;
  return options;
}

/// Hands out the sentences of one group.
class GroupSource final : public decoding::SentenceSource {
 public:
  GroupSource(const SequenceList& sources, std::span<const std::uint32_t> group) : sources_(&sources), group_(group) {}
  decoding::Supply next(decoding::Sentence& sentence, bool /*may_wait*/) override {
    if (next_ == group_.size()) return decoding::Supply::kEnd;
    const std::uint32_t i = group_[next_++];
    const auto tokens = (*sources_)[i];
    sentence.id = sentence.line = i;
    sentence.source.assign(tokens.begin(), tokens.end());
    sentence.target_prefix.clear();
    return decoding::Supply::kSentence;
  }

 private:
  const SequenceList* sources_;
  std::span<const std::uint32_t> group_;
  std::size_t next_ = 0;
};

/// Turns results back into text, each at the place of its sentence.
class TextSink final : public decoding::HypothesisSink {
 public:
  TextSink(const tokenizer::Tokenizer& tokenizer, std::vector<std::string>& texts)
      : tokenizer_(&tokenizer), texts_(&texts) {}
  void deliver(std::uint64_t id, std::vector<decoding::Hypothesis> hypotheses) override {
    (*texts_)[id] = tokenizer_->decode(hypotheses.front().tokens);
  }

 private:
  const tokenizer::Tokenizer* tokenizer_;
  std::vector<std::string>* texts_;
};

std::vector<std::string> lines_of(const LineList& text) {
  std::vector<std::string> lines(text.size());
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = text[i];
  return lines;
}

void require_going(const std::stop_token& stop) {
  core::require(!stop.stop_requested(), core::ErrorCode::kInterrupted, "interrupted during validation");
}

}  // namespace

double ValidationResult::value(ValidationMetric metric) const {
  switch (metric) {
    case ValidationMetric::kBleu:
      return bleu.value().value;
    case ValidationMetric::kChrf:
      return chrf.value().value;
    case ValidationMetric::kLoss:
      break;
  }
  return loss;
}

std::string describe(const ValidationResult& result) {
  std::string text = fmt::format("loss {:.4f}, perplexity {:.3f}", result.loss, result.perplexity);
  for (const auto* score : {&result.bleu, &result.chrf})
    if (score->has_value()) text += fmt::format(", {} {:.2f}", (*score)->name, (*score)->value);
  return text;
}

Validator::Validator(const Corpus& corpus, TokenizerPair tokenizers, const ValidationConfig& config,
                     const runtime::Runtime& runtime, tensor::Device device, core::Executor& executor)
    : corpus_(&corpus),
      tokenizers_(std::move(tokenizers)),
      config_(config),
      runtime_(&runtime),
      device_(device),
      executor_(&executor),
      references_(lines_of(corpus.target_text())) {
  core::require(references_.size() == corpus.size(), core::ErrorCode::kInvalidArgument,
                "the validation corpus has {} pairs, but keeps {} lines of text", corpus.size(), references_.size());
}

ValidationResult Validator::run(const nn::Seq2SeqModel& model, const core::ProgressSink& progress,
                                const std::stop_token& stop) const {
  ValidationResult result;
  measure_loss(model, result, stop);
  if (!config_.bleu && !config_.chrf && config_.samples == 0) return result;
  const std::vector<std::string> texts = translate(model, progress, stop);
  const std::vector<std::vector<std::string>> references{references_};
  if (config_.bleu) result.bleu = evaluation::corpus_bleu(texts, references);
  if (config_.chrf) result.chrf = evaluation::corpus_chrf(texts, references);
  const std::size_t samples = std::min(texts.size(), static_cast<std::size_t>(config_.samples));
  for (std::size_t i = 0; i < samples; ++i)
    result.samples.push_back({std::string(corpus_->source_text()[i]), texts[i], references_[i]});
  return result;
}

void Validator::measure_loss(const nn::Seq2SeqModel& model, ValidationResult& result,
                             const std::stop_token& stop) const {
  const auto context = runtime_->make_context(device_, *executor_);
  const EpochPlan plan = EpochPlan::in_order_of_length(corpus_->pairs(), config_.batch_tokens);
  Batch batch;
  double sum = 0;
  for (std::int64_t i = 0; i < plan.batches(); ++i) {
    require_going(stop);
    batch.assign(corpus_->pairs(), plan.batch(i), model.spec().decoder_start);
    const ops::LossSums sums = evaluate_loss(*context, model, batch, 0);
    sum += sums.negative_log_likelihood;
    result.tokens += sums.tokens;
  }
  result.loss = sum / static_cast<double>(result.tokens);
  result.perplexity = std::exp(result.loss);
}

std::vector<std::string> Validator::translate(const nn::Seq2SeqModel& model, const core::ProgressSink& progress,
                                              const std::stop_token& stop) const {
  const EpochPlan one_batch = EpochPlan::in_order_of_length(corpus_->pairs(), INT64_MAX);
  const std::span<const std::uint32_t> order = one_batch.batch(0);
  std::vector<std::string> texts(order.size());
  std::mutex mutex;
  std::uint64_t done = 0;
  core::for_each_range(
      *executor_, static_cast<std::int64_t>(order.size()), kGroup, [&](std::int64_t begin, std::int64_t end) {
        const auto group = order.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
        decode_group(model, group, texts, stop);
        const std::lock_guard lock(mutex);
        done += group.size();
        core::report(progress,
                     {.stage = "validate", .done = done, .total = order.size(), .unit = "sentences", .figures = {}});
      });
  return texts;
}

void Validator::decode_group(const nn::Seq2SeqModel& model, std::span<const std::uint32_t> group,
                             std::vector<std::string>& texts, const std::stop_token& stop) const {
  core::SequentialExecutor executor;
  const auto context = runtime_->make_context(device_, executor);
  decoding::ModelStepper stepper(model, *context);
  decoding::DecodingLoop loop(stepper, decoding_options(config_), {.maximum_encoder_tokens = config_.batch_tokens});
  GroupSource source(corpus_->pairs().source, group);
  TextSink sink(*tokenizers_.target, texts);
  core::require(loop.run(source, sink, stop), core::ErrorCode::kInterrupted, "interrupted during validation");
}

}  // namespace dragoman::training
