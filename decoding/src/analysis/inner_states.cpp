#include "dragoman/decoding/inner_states.h"

#include "attention_recorder.h"
#include "models/forced_targets.h"

#include <dragoman/core/error.h>
#include <dragoman/nn/whole_state.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::decoding {
namespace {

/// Appends the rows of each sentence to the sentence's results.
void add_states(tensor::Context& context, const tensor::Tensor& states, std::span<const std::int32_t> offsets,
                std::vector<InnerStates>& results) {
  const tensor::HostView view = tensor::HostView::of(context.memory(), states);
  for (std::size_t b = 0; b < results.size(); ++b) {
    TokenStates& to = results[b].states;
    ++to.layers;
    to.tokens = offsets[b + 1] - offsets[b];
    to.width = states.cols;
    for (std::int64_t i = offsets[b]; i < offsets[b + 1]; ++i)
      for (std::int64_t j = 0; j < states.cols; ++j)
        to.values.push_back(static_cast<float>(tensor::element(view.tensor(), i, j)));
  }
}

void add_states(tensor::Context& context, const StatesRequest& request, const nn::Variable& final_states,
                const std::vector<nn::Variable>& layers, std::span<const std::int32_t> offsets,
                std::vector<InnerStates>& results) {
  if (request.final_states) return add_states(context, final_states.value, offsets, results);
  const int total = static_cast<int>(layers.size());
  for (int layer : request.layers) {
    core::require(layer >= -total && layer < total, core::ErrorCode::kInvalidArgument,
                  "there are no states {}; the model has 0, the embedded tokens, to {}", layer, total - 1);
    layer = layer < 0 ? layer + total : layer;
    add_states(context, layers[static_cast<std::size_t>(layer)].value, offsets, results);
  }
  if (request.layers.empty())
    for (const nn::Variable& layer : layers) add_states(context, layer.value, offsets, results);
}

void check(const AttentionRequest& request, const nn::Seq2SeqModel& model) {
  if (!request.of_model) return;
  core::require(request.kind == AttentionKind::kCross && request.layers.empty() && request.heads.empty() &&
                    !request.before_softmax,
                core::ErrorCode::kInvalidArgument,
                "the model's own alignment is attention to the source behind the softmax, without layers and heads");
  core::require(model.alignment_heads().memory.index >= 0, core::ErrorCode::kUnsupported,
                "this model names no layer as its alignment; name one");
}

/// Adds the alignment that decode() kept in the state, for each sentence.
void add_alignments(nn::WholeState& state, std::span<const std::int32_t> targets, std::span<const std::int32_t> sources,
                    std::vector<InnerStates>& results) {
  for (std::size_t b = 0; b < results.size(); ++b) {
    AttentionMaps& maps = results[b].attention;
    maps = {.layers = {-1}, .heads = {-1}, .queries = targets[b + 1] - targets[b], .keys = sources[b + 1] - sources[b]};
    for (std::int32_t t = targets[b]; t < targets[b + 1]; ++t) {
      const std::vector<float> weights = state.alignment(t);
      maps.values.insert(maps.values.end(), weights.begin(), weights.end());
    }
  }
}

}  // namespace

bool InnerStatesRequest::needs_decoder() const {
  return (attention && attention->kind != AttentionKind::kEncoder) || (states && states->of_decoder);
}

std::vector<InnerStates> inner_states(const nn::Seq2SeqModel& model, tensor::Context& context,
                                      const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets,
                                      const InnerStatesRequest& request) {
  core::require(!request.needs_decoder() || sources.batch() == targets.batch(), core::ErrorCode::kInvalidArgument,
                "inner states: {} sources but {} targets", sources.batch(), targets.batch());
  tensor::check_ragged(sources, model.spec().source_vocabulary);
  if (request.needs_decoder()) tensor::check_ragged(targets, model.spec().target_vocabulary);
  std::vector<InnerStates> results(static_cast<std::size_t>(sources.batch()));
  if (results.empty()) return results;
  const auto wants_layers = [&](bool of_decoder) {
    return request.states && !request.states->final_states && request.states->of_decoder == of_decoder;
  };
  const bool of_model = request.attention && request.attention->of_model;
  if (request.attention) check(*request.attention, model);
  std::optional<AttentionRecorder> recorder;
  if (request.attention) recorder.emplace(context, *request.attention);
  context.step([&] {
    const nn::Encoding encoding = model.encode(context, sources, wants_layers(false));
    if (request.states && !request.states->of_decoder)
      add_states(context, *request.states, encoding.states, encoding.layers, sources.offsets, results);
    if (!request.needs_decoder()) return;
    if (recorder) recorder->decoder_begins();
    const ForcedTargets forced(targets, model.spec());
    const std::vector<nn::KeyValue> memories = model.memories(context, encoding);
    nn::WholeState state(memories, encoding.offsets, model.parameters().compute_type());
    if (of_model) state.request_alignment(model.alignment_heads());
    const nn::Decoding decoding =
        model.decode(context, tensor::RaggedTokens{forced.inputs, forced.offsets}, state, wants_layers(true));
    if (request.states && request.states->of_decoder)
      add_states(context, *request.states, decoding.states, decoding.layers, forced.offsets, results);
    if (of_model) add_alignments(state, forced.offsets, sources.offsets, results);
  });
  if (recorder && !of_model) {
    std::vector<AttentionMaps> maps = recorder->take();
    for (std::size_t b = 0; b < results.size(); ++b) results[b].attention = std::move(maps[b]);
  }
  return results;
}

}  // namespace dragoman::decoding
