#include "attention_recorder.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::decoding {
namespace {

std::string_view name_of(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::kEncoder:
      return "self-attention of an encoder";
    case AttentionKind::kDecoder:
      return "self-attention of a decoder";
    case AttentionKind::kCross:
      break;
  }
  return "attention to the source";
}

/// Scores of a query row and a key row in one head: the inputs of the softmax.
class Scores {
 public:
  Scores(tensor::DeviceMemory& memory, const ops::AttentionArguments& forward)
      : q_(tensor::HostView::of(memory, forward.q)),
        k_(tensor::HostView::of(memory, forward.k)),
        width_(forward.q.cols / forward.heads),
        scale_(ops::score_scale<double>(forward.scale, width_)) {}

  double operator()(int head, std::int64_t query, std::int64_t key) const {
    double sum = 0;
    for (std::int64_t c = head * width_; c < (head + 1) * width_; ++c)
      sum += tensor::element(q_.tensor(), query, c) * tensor::element(k_.tensor(), key, c);
    return sum * scale_;
  }

 private:
  tensor::HostView q_;
  tensor::HostView k_;
  std::int64_t width_;
  double scale_;
};

}  // namespace

AttentionRecorder::AttentionRecorder(tensor::Context& context, const AttentionRequest& request)
    : context_(&context), before_(ops::attention_observer(context)), request_(request) {
  ops::set_attention_observer(context, this);
}

void AttentionRecorder::before(ops::AttentionOptions& options) {
  // Within a decoder, causal attention is the attention to its own tokens.
  const AttentionKind kind = !in_decoder_     ? AttentionKind::kEncoder
                             : options.causal ? AttentionKind::kDecoder
                                              : AttentionKind::kCross;
  wanted_ = kind == request_.kind && !request_.of_model;
  if (kind == AttentionKind::kDecoder && request_.full_context) options.causal = false;
  causal_ = options.causal;
}

void AttentionRecorder::after(tensor::Context& context, const ops::AttentionArguments& forward,
                              const ops::Offsets& q_offsets, const ops::Offsets& k_offsets) {
  if (!wanted_) return;
  const std::span q = q_offsets.host;
  const std::span k = k_offsets.host;
  std::vector<Map>& maps = layers_.emplace_back();
  if (request_.before_softmax) {
    const Scores scores(context.memory(), forward);
    for (std::size_t b = 0; b + 1 < q.size(); ++b) {
      const std::int64_t queries = q[b + 1] - q[b];
      const std::int64_t keys = k[b + 1] - k[b];
      maps.push_back(make_map(forward.heads, queries, keys, [&](int head, std::int64_t i, std::int64_t j) {
        if (causal_ && j > i + keys - queries) return -std::numeric_limits<double>::infinity();
        return scores(head, q[b] + i, k[b] + j);
      }));
    }
    return;
  }
  const tensor::HostView weights = tensor::HostView::of(context.memory(), forward.probabilities);
  const std::vector<std::int64_t> first = ops::weight_offsets(q, k, forward.heads);
  for (std::size_t b = 0; b + 1 < q.size(); ++b) {
    const std::int64_t queries = q[b + 1] - q[b];
    const std::int64_t keys = k[b + 1] - k[b];
    maps.push_back(make_map(forward.heads, queries, keys, [&](int head, std::int64_t i, std::int64_t j) {
      return tensor::element(weights.tensor(), 0, first[b] + (head * queries + i) * keys + j);
    }));
  }
}

std::vector<int> AttentionRecorder::heads_of(int total) const {
  if (!request_.heads.empty()) return request_.heads;
  std::vector<int> all(static_cast<std::size_t>(total));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

AttentionRecorder::Map AttentionRecorder::make_map(
    int heads, std::int64_t queries, std::int64_t keys,
    const std::function<double(int, std::int64_t, std::int64_t)>& value) const {
  for (const int head : request_.heads)
    core::require(head >= 0 && head < heads, core::ErrorCode::kInvalidArgument,
                  "there is no attention head {}; layers have {}, from 0", head, heads);
  const std::vector<int> wanted = heads_of(heads);
  Map map{.heads = heads, .queries = queries, .keys = keys};
  map.values.reserve((request_.mean ? 1 : wanted.size()) * static_cast<std::size_t>(queries * keys));
  if (request_.mean) {
    for (std::int64_t i = 0; i < queries; ++i)
      for (std::int64_t j = 0; j < keys; ++j) {
        double sum = 0;
        for (const int head : wanted) sum += value(head, i, j);
        map.values.push_back(static_cast<float>(sum / static_cast<double>(wanted.size())));
      }
    return map;
  }
  for (const int head : wanted)
    for (std::int64_t i = 0; i < queries; ++i)
      for (std::int64_t j = 0; j < keys; ++j) map.values.push_back(static_cast<float>(value(head, i, j)));
  return map;
}

std::vector<int> AttentionRecorder::chosen_layers() const {
  const int total = static_cast<int>(layers_.size());
  core::require(total > 0, core::ErrorCode::kInvalidArgument, "the model has no {}", name_of(request_.kind));
  std::vector<int> chosen = request_.layers;
  for (int& layer : chosen) {
    core::require(layer >= -total && layer < total, core::ErrorCode::kInvalidArgument,
                  "there is no attention layer {}; the model has {}, from 0", layer, total);
    if (layer < 0) layer += total;
  }
  if (!chosen.empty()) return chosen;
  chosen.resize(static_cast<std::size_t>(total));
  std::iota(chosen.begin(), chosen.end(), 0);
  return chosen;
}

std::vector<AttentionMaps> AttentionRecorder::take() {
  const std::vector<int> chosen = chosen_layers();
  std::vector<AttentionMaps> result(layers_.front().size());
  for (std::size_t b = 0; b < result.size(); ++b) {
    AttentionMaps& maps = result[b];
    maps.layers = chosen;
    for (const int layer : chosen) {
      const Map& map = layers_[static_cast<std::size_t>(layer)][b];
      const std::vector<int> heads = request_.mean ? std::vector<int>{-1} : heads_of(map.heads);
      core::require(layer == chosen.front() || heads == maps.heads, core::ErrorCode::kInvalidArgument,
                    "layers {} and {} have different numbers of heads; name the heads, or one layer", chosen.front(),
                    layer);
      maps.heads = heads;
      maps.queries = map.queries;
      maps.keys = map.keys;
      maps.values.insert(maps.values.end(), map.values.begin(), map.values.end());
    }
  }
  return result;
}

}  // namespace dragoman::decoding
