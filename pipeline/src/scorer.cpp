#include "dragoman/pipeline/scorer.h"

#include "dragoman/pipeline/line_policy.h"
#include "dragoman/pipeline/translator.h"

#include <dragoman/core/error.h>

namespace dragoman::pipeline {
namespace {

engine::ScoreRequest to_request(const TranslationModel& model, LinePair& pair) {
  clean_line(pair.source);
  clean_line(pair.target);
  engine::ScoreRequest request;
  request.source = model.source_tokenizer->encode(pair.source);
  request.target = model.target_tokenizer->encode(pair.target);
  const nn::SequenceSpec& spec = model.model->spec();
  core::require(request.source.size() < static_cast<std::size_t>(spec.maximum_source_length) &&
                    request.target.size() < static_cast<std::size_t>(spec.maximum_target_length),
                core::ErrorCode::kBadInput,
                "{}: {} source and {} target tokens are more than the model takes ({} and {})", pair.where,
                request.source.size(), request.target.size(), spec.maximum_source_length - 1,
                spec.maximum_target_length - 1);
  request.source.push_back(spec.end);
  return request;
}

}  // namespace

struct Scorer::Impl {
  Impl(const std::filesystem::path& folder, plugins::Host& host, const ScorerOptions& scorer_options)
      : options(scorer_options),
        model(folder, host,
              {.device = options.device, .compute = options.compute, .allow_non_finite = options.allow_non_finite}),
        engine(host.runtime(), *model.view().model, {.threads = options.threads, .device = options.device}) {}

  ScorerOptions options;
  LoadedTranslationModel model;
  engine::TranslationEngine engine;
};

Scorer::Scorer(const std::filesystem::path& model_folder, plugins::Host& host, const ScorerOptions& options)
    : impl_(std::make_unique<Impl>(model_folder, host, options)) {}
Scorer::~Scorer() = default;
Scorer::Scorer(Scorer&&) noexcept = default;
Scorer& Scorer::operator=(Scorer&&) noexcept = default;

std::vector<LineScore> Scorer::score(std::vector<LinePair> pairs, const std::stop_token& stop) {
  const TranslationModel model = impl_->model.view();
  std::vector<LineScore> scores(pairs.size());
  engine::Client client(impl_->engine);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    engine::ScoreRequest request = to_request(model, pairs[i]);
    for (const std::int32_t token : request.target) scores[i].pieces.emplace_back(model.target_tokenizer->piece(token));
    request.penalty = impl_->options.length_penalty;
    request.stop = stop;
    client.submit(std::move(request), [&score = scores[i]](engine::ScoreResult result) {
      if (result.error) std::rethrow_exception(result.error);
      score.score = result.score.score;
      score.log_probability = result.score.log_probability;
      score.token_log_probabilities = std::move(result.score.token_log_probabilities);
    });
  }
  client.wait();
  return scores;
}

}  // namespace dragoman::pipeline
