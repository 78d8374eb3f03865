#include "dragoman/pipeline/embedder.h"

#include "forced_pair.h"

#include <algorithm>

namespace dragoman::pipeline {
namespace {

/// Combines all rows of each layer into one.
decoding::TokenStates pool(const decoding::TokenStates& states, Pooling pooling) {
  decoding::TokenStates pooled{.layers = states.layers, .tokens = 1, .width = states.width};
  const auto at = [&](std::int64_t layer, std::int64_t token, std::int64_t column) {
    return states.values[static_cast<std::size_t>((layer * states.tokens + token) * states.width + column)];
  };
  for (std::int64_t layer = 0; layer < states.layers; ++layer) {
    for (std::int64_t column = 0; column < states.width; ++column) {
      double sum = 0;
      float greatest = at(layer, 0, column);
      for (std::int64_t token = 0; token < states.tokens; ++token) {
        sum += at(layer, token, column);
        greatest = std::max(greatest, at(layer, token, column));
      }
      if (pooling == Pooling::kMean)
        pooled.values.push_back(static_cast<float>(sum / static_cast<double>(states.tokens)));
      else
        pooled.values.push_back(pooling == Pooling::kMax ? greatest : at(layer, 0, column));
    }
  }
  return pooled;
}

}  // namespace

struct Embedder::Impl {
  Impl(const Model& shared_model, const EmbedderOptions& embedder_options)
      : model(shared_model), options(embedder_options) {}

  std::vector<std::string> pieces(const engine::ScoreRequest& request) const {
    const ModelView view = model.view();
    std::vector<std::string> result;
    if (!options.states.of_decoder) {
      for (const std::int32_t token : request.source) result.emplace_back(view.source_tokenizer->piece(token));
      return result;
    }
    result.emplace_back(view.target_tokenizer->piece(view.model->spec().decoder_start));
    for (const std::int32_t token : request.target) result.emplace_back(view.target_tokenizer->piece(token));
    return result;
  }

  Model model;
  EmbedderOptions options;
};

Embedder::Embedder(const Model& model, const EmbedderOptions& options)
    : impl_(std::make_unique<Impl>(model, options)) {}
Embedder::~Embedder() = default;
Embedder::Embedder(Embedder&&) noexcept = default;
Embedder& Embedder::operator=(Embedder&&) noexcept = default;

std::vector<LineEmbedding> Embedder::embed(std::vector<LinePair> lines, const std::stop_token& stop) {
  const EmbedderOptions& options = impl_->options;
  std::vector<LineEmbedding> results(lines.size());
  engine::Client client(impl_->model.engine());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!options.states.of_decoder) lines[i].target.clear();
    ForcedPair forced = forced_pair(impl_->model.view(), lines[i], options.long_lines);
    results[i].cut = forced.cut;
    results[i].error = std::move(forced.error);
    if (!results[i].error.empty()) continue;
    engine::ScoreRequest request = std::move(forced.request);
    results[i].pieces = impl_->pieces(request);
    request.scored = false;
    request.inner = {.attention = {}, .states = options.states};
    request.stop = stop;
    client.submit(std::move(request), [&states = results[i].states, &options](engine::ScoreResult result) {
      if (result.error) std::rethrow_exception(result.error);
      states = options.pooling == Pooling::kNone ? std::move(result.inner.states)
                                                 : pool(result.inner.states, options.pooling);
    });
  }
  client.wait();
  return results;
}

}  // namespace dragoman::pipeline
