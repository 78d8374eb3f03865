#include "dragoman/pipeline/scorer.h"

#include "dragoman/pipeline/translator.h"
#include "forced_pair.h"

#include <dragoman/core/error.h>

namespace dragoman::pipeline {

struct Scorer::Impl {
  Impl(const std::filesystem::path& folder, plugins::Host& host, const ScorerOptions& scorer_options)
      : options(scorer_options),
        model(folder, host,
              {.device = options.device,
               .compute = options.compute,
               .allow_non_finite = options.allow_non_finite,
               .ensemble = options.ensemble}),
        engine(host.runtime(), model.view().models(), {.threads = options.threads, .device = options.device}) {
    core::require(!options.attention.kind || options.ensemble.models.empty(), core::ErrorCode::kUnsupported,
                  "attention is one model's and not an ensemble's; leave one of them out");
  }

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
    engine::ScoreRequest request =
        forced_pair(model, pairs[i], LongLines::kFail,
                    {pairs[i].source_language.empty() ? impl_->options.languages.source : pairs[i].source_language,
                     pairs[i].target_language.empty() ? impl_->options.languages.target : pairs[i].target_language});
    for (const std::int32_t token : request.target) scores[i].pieces.emplace_back(model.target_tokenizer->piece(token));
    request.penalty = impl_->options.length_penalty;
    request.stop = stop;
    const AttentionSettings& attention = impl_->options.attention;
    request.inner = attention.inner();
    SentenceTokens tokens;
    if (attention.kind) tokens = {request.source, request.target};
    client.submit(std::move(request),
                  [&score = scores[i], &attention, model, tokens = std::move(tokens)](engine::ScoreResult result) {
                    if (result.error) std::rethrow_exception(result.error);
                    if (attention.kind)
                      score.attention = label_attention(model, attention, std::move(result.inner.attention),
                                                        tokens.source, tokens.target);
                    score.score = result.score.score;
                    score.log_probability = result.score.log_probability;
                    score.token_log_probabilities = std::move(result.score.token_log_probabilities);
                  });
  }
  client.wait();
  return scores;
}

}  // namespace dragoman::pipeline
