#include "dragoman/training/validation.h"

#include "data/random_streams.h"
#include "validation/external_metric.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/random.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>
#include <dragoman/engine/translation_engine.h>
#include <dragoman/evaluation/bleu.h>
#include <dragoman/evaluation/chrf.h>
#include <dragoman/evaluation/ter.h>
#include <dragoman/training/loss.h>

namespace dragoman::training {
namespace {

decoding::DecodingOptions decoding_options(const ValidationConfig& config) {
  decoding::DecodingOptions options;
  options.strategy = config.beam_size > 1 ? "beam" : "greedy";
  options.beam_size = config.beam_size;
  options.length_penalty.alpha = config.length_penalty;
  return options;
}

/// Converts results to text, each at the index of its sentence. Called by the engine's workers.
class Texts {
 public:
  Texts(const tokenizer::Tokenizer& tokenizer, std::size_t size, const core::ProgressSink& progress)
      : tokenizer_(&tokenizer), progress_(&progress), texts_(size) {}

  void put(std::size_t i, const engine::TranslationResult& result) {
    if (result.error) std::rethrow_exception(result.error);
    std::string text = tokenizer_->decode(result.hypotheses.front().tokens);
    // The text is the same as in the output of `translate`, so that scores apply to that output.
    core::replace_invalid_utf8(text);
    core::keep_on_one_line(text);
    texts_[i] = std::move(text);
    const std::lock_guard lock(mutex_);
    if (++done_ % kReported == 0 || done_ == texts_.size())
      core::report(*progress_,
                   {.stage = "validate", .done = done_, .total = texts_.size(), .unit = "sentences", .figures = {}});
  }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  static constexpr std::uint64_t kReported = 100;

  const tokenizer::Tokenizer* tokenizer_;
  const core::ProgressSink* progress_;
  std::vector<std::string> texts_;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
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

const evaluation::Score* ValidationResult::score(std::string_view name) const {
  const auto found = std::ranges::find(scores, name, &evaluation::Score::name);
  return found == scores.end() ? nullptr : &*found;
}

double ValidationResult::value(const MetricChoice& metric) const {
  if (metric.kind == ValidationMetric::kLoss) return loss;
  if (metric.kind == ValidationMetric::kPerplexity) return perplexity;
  const auto computed = make_metric(metric.kind);
  const std::string name = computed ? computed->name() : metric.name();
  const evaluation::Score* found = score(name);
  core::require(found != nullptr, core::ErrorCode::kInvalidArgument, "{} was not measured", name);
  return found->value;
}

std::unique_ptr<evaluation::Metric> make_metric(ValidationMetric metric) {
  switch (metric) {
    case ValidationMetric::kBleu:
      return std::make_unique<evaluation::Bleu>();
    case ValidationMetric::kChrf:
      return std::make_unique<evaluation::Chrf>();
    case ValidationMetric::kChrfPlusPlus:
      return std::make_unique<evaluation::Chrf>(evaluation::ChrfOptions{.word_order = 2});
    case ValidationMetric::kTer:
      return std::make_unique<evaluation::Ter>();
    default:
      return nullptr;
  }
}

std::string describe(const ValidationResult& result) {
  std::string text = fmt::format("loss {:.4f}, perplexity {:.3f}", result.loss, result.perplexity);
  for (const evaluation::Score& score : result.scores) text += fmt::format(", {} {:.2f}", score.name, score.value);
  return text;
}

std::vector<std::uint32_t> sampled_sentences(const SampleConfig& config, std::size_t size, const SampleDraw& draw) {
  std::vector<std::uint32_t> sentences(size);
  std::iota(sentences.begin(), sentences.end(), std::uint32_t{0});
  const std::size_t first = std::min(size, static_cast<std::size_t>(config.first));
  const std::size_t random = std::min(size - first, static_cast<std::size_t>(config.random));
  core::shuffle(std::span(sentences).subspan(first), draw.seed, random_streams::kValidationSample + draw.number);
  sentences.resize(first + random);
  std::sort(sentences.begin() + static_cast<std::ptrdiff_t>(first), sentences.end());
  return sentences;
}

Validator::Validator(const Corpus& corpus, TokenizerPair tokenizers, const ValidationConfig& config,
                     const runtime::Runtime& runtime, tensor::Device device, core::Executor& executor,
                     std::filesystem::path files, MetricFunctions functions)
    : corpus_(&corpus),
      tokenizers_(std::move(tokenizers)),
      config_(config),
      runtime_(&runtime),
      device_(device),
      executor_(&executor),
      references_(lines_of(corpus.target_text())),
      files_(std::move(files)),
      functions_(std::move(functions)) {
  const bool external =
      std::ranges::find(config.metrics, ValidationMetric::kCommand, &MetricChoice::kind) != config.metrics.end();
  for (const MetricChoice& metric : config.metrics)
    core::require(metric.kind != ValidationMetric::kFunction || functions_.contains(metric.function.function),
                  core::ErrorCode::kInvalidArgument,
                  "validation.metrics: {} is the function {} of a program that calls this library, and this program "
                  "has none of that name",
                  metric.name(), core::Quoted{metric.function.function});
  core::require(!external || !files_.empty(), core::ErrorCode::kInvalidArgument,
                "validation.metrics: programs need files, for which there is no folder");
  core::require(references_.size() == corpus.size(), core::ErrorCode::kInvalidArgument,
                "the validation corpus has {} pairs, but keeps {} lines of text", corpus.size(), references_.size());
}

ValidationResult Validator::run(const nn::Seq2SeqModel& model, const SampleDraw& draw,
                                const core::ProgressSink& progress, const std::stop_token& stop) const {
  ValidationResult result;
  measure_loss(model, result, stop);
  const std::vector<std::uint32_t> samples = sampled_sentences(config_.samples, corpus_->size(), draw);
  if (config_.metrics.empty() && samples.empty()) return result;
  result.hypotheses = translate(model, progress, stop);
  constexpr std::string_view kFile = "last.txt";
  if (!files_.empty()) write_files(result.hypotheses, kFile, result.warnings);
  for (const MetricChoice& metric : config_.metrics)
    result.scores.push_back(score(metric, result.hypotheses, kFile, result.warnings, stop));
  for (const std::uint32_t i : samples)
    result.samples.push_back({.source = std::string(corpus_->source_text()[i]),
                              .prediction = result.hypotheses[i],
                              .reference = references_[i],
                              .random = i >= config_.samples.first});
  return result;
}

/// A file that cannot be written makes external metrics fail, which has its own policy.
void Validator::write_files(const std::vector<std::string>& hypotheses, std::string_view file,
                            std::vector<std::string>& warnings) const {
  try {
    std::error_code ignored;
    std::filesystem::create_directories(files_, ignored);  // writing reports what is wrong with it
    if (!texts_written_) {
      write_lines(files_ / "source.txt", lines_of(corpus_->source_text()));
      write_lines(files_ / "reference.txt", references_);
      texts_written_ = true;
    }
    write_lines(files_ / file, hypotheses);
  } catch (const core::Error& error) {
    std::error_code ignored;
    std::filesystem::remove(files_ / file, ignored);  // no file is better than the file of another validation
    warnings.push_back(fmt::format("translations could not be kept: {}", error.what()));
  }
}

evaluation::Score Validator::score(const MetricChoice& metric, const std::vector<std::string>& hypotheses,
                                   std::string_view file, std::vector<std::string>& warnings,
                                   const std::stop_token& stop) const {
  if (const auto computed = make_metric(metric.kind))
    return evaluation::corpus_score(*computed, hypotheses, {&references_, 1}, std::nullopt, stop);
  evaluation::Score score;
  score.name = metric.name();
  if (metric.kind == ValidationMetric::kFunction) {
    score.value = call_function(metric.function, hypotheses, warnings);
    return score;
  }
  score.value = std::numeric_limits<double>::quiet_NaN();
  try {
    score.value = measure(
        metric.external,
        {.hypotheses = files_ / file, .references = files_ / "reference.txt", .sources = files_ / "source.txt"}, stop);
  } catch (const core::Error& error) {
    if (error.code() != core::ErrorCode::kIo || metric.external.failure == MetricFailure::kStop) throw;
    warnings.emplace_back(error.what());
  }
  return score;
}

double Validator::call_function(const FunctionMetric& metric, const std::vector<std::string>& hypotheses,
                                std::vector<std::string>& warnings) const {
  const std::vector<std::string> sources = lines_of(corpus_->source_text());
  const double value = functions_.at(metric.function)({sources, hypotheses, references_});
  if (std::isfinite(value)) return value;
  const std::string problem = fmt::format("validation.metrics: the function {} returned {}, which is no finite number",
                                          core::quote(metric.function), value);
  core::require(metric.failure != MetricFailure::kStop, core::ErrorCode::kInvalidArgument, "{}", problem);
  warnings.push_back(problem);
  return std::numeric_limits<double>::quiet_NaN();
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
  return translate(model, decoding_options(config_), progress, stop);
}

TuneResult Validator::tune(const nn::Seq2SeqModel& model, std::vector<std::string>& warnings,
                           const core::ProgressSink& progress, const std::stop_token& stop) const {
  // Texts have neither loss nor perplexity.
  const MetricChoice metric = config_.metric.decodes() ? config_.metric : MetricChoice{};
  constexpr std::string_view kFile = "tune.txt";
  const auto score_of = [&](const std::vector<std::string>& hypotheses) {
    if (metric.kind == ValidationMetric::kCommand) write_files(hypotheses, kFile, warnings);
    evaluation::Score found = score(metric, hypotheses, kFile, warnings, stop);
    std::error_code ignored;
    if (metric.kind == ValidationMetric::kCommand) std::filesystem::remove(files_ / kFile, ignored);
    return found;
  };
  return tune_decoding(
      core::Json::object(), config_.tune, {.score = score_of, .higher_is_better = metric.higher_is_better()},
      [&](const decoding::DecodingOptions& options) { return translate(model, options, progress, stop); },
      "validation.tune");
}

std::vector<std::string> Validator::translate(const nn::Seq2SeqModel& model, const decoding::DecodingOptions& options,
                                              const core::ProgressSink& progress, const std::stop_token& stop) const {
  // A device prefers a number of workers; the CPU has the validation's threads.
  const tensor::PreferredLoad load =
      runtime_->backend(device_).preferred_load(device_.number(), model.parameters().compute_type());
  engine::TranslationEngine engine(*runtime_, model,
                                   {.threads = load.workers > 0 ? 0 : executor_->threads(),
                                    .device = device_,
                                    .limits = {.maximum_encoder_tokens = config_.batch_tokens}});
  const SequenceList& sources = corpus_->pairs().source;
  // One search per number of tokens that translations begin with: texts of different languages may differ in it.
  std::map<std::size_t, std::shared_ptr<const decoding::SearchPlan>> searches;
  const auto search_for = [&](std::size_t given_tokens) {
    auto& search = searches[given_tokens];
    if (search) return search;
    decoding::DecodingOptions with_tags = options;
    with_tags.given_tokens = static_cast<std::int32_t>(given_tokens);
    return search = std::make_shared<const decoding::SearchPlan>(with_tags);
  };
  Texts texts(*tokenizers_.target, corpus_->size(), progress);
  engine::Client client(engine);
  for (std::size_t i = 0; i < corpus_->size(); ++i) {
    const auto tokens = sources[i];
    const std::vector<std::int32_t>& given = corpus_->tags_of(i).target_prefix;
    client.submit(engine::TranslationRequest{.source = {tokens.begin(), tokens.end()},
                                             .target_prefix = given,
                                             .line = i,
                                             .search = search_for(given.size()),
                                             .stop = stop},
                  [&texts, i](const engine::TranslationResult& result) { texts.put(i, result); });
  }
  try {
    client.wait();
  } catch (...) {
    require_going(stop);
    throw;
  }
  return texts.take();
}

}  // namespace dragoman::training
