#include "dragoman/pipeline/scorer.h"

#include "forced_pair.h"

#include <dragoman/core/error.h>

namespace dragoman::pipeline {

struct Scorer::Impl {
  Impl(const Model& shared_model, const ScorerOptions& scorer_options) : model(shared_model), options(scorer_options) {
    core::require(!options.attention.kind || model.view().ensemble.models.empty(), core::ErrorCode::kUnsupported,
                  "attention is one model's and not an ensemble's; leave one of them out");
  }

  Model model;
  ScorerOptions options;
};

Scorer::Scorer(const Model& model, const ScorerOptions& options) : impl_(std::make_unique<Impl>(model, options)) {}
Scorer::~Scorer() = default;
Scorer::Scorer(Scorer&&) noexcept = default;
Scorer& Scorer::operator=(Scorer&&) noexcept = default;

std::vector<LineScore> Scorer::score(std::vector<LinePair> pairs, const std::stop_token& stop) {
  const ModelView model = impl_->model.view();
  std::vector<LineScore> scores(pairs.size());
  engine::Client client(impl_->model.engine());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ForcedPair forced =
        forced_pair(model, pairs[i], impl_->options.long_lines,
                    {pairs[i].source_language.empty() ? impl_->options.languages.source : pairs[i].source_language,
                     pairs[i].target_language.empty() ? impl_->options.languages.target : pairs[i].target_language});
    scores[i].cut = forced.cut;
    scores[i].error = std::move(forced.error);
    if (!scores[i].error.empty()) continue;
    engine::ScoreRequest request = std::move(forced.request);
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
