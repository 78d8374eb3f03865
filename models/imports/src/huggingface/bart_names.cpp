#include "huggingface/bart_names.h"

#include <fmt/format.h>

namespace dragoman::imports {
namespace {

std::vector<const char*> linear_names(LinearKind kind) {
  switch (kind) {
    case LinearKind::kSelfQkv:
      return {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
    case LinearKind::kSelfOut:
      return {"self_attn.out_proj"};
    case LinearKind::kCrossQ:
      return {"encoder_attn.q_proj"};
    case LinearKind::kCrossKv:
      return {"encoder_attn.k_proj", "encoder_attn.v_proj"};
    case LinearKind::kCrossOut:
      return {"encoder_attn.out_proj"};
    case LinearKind::kInner:
      return {"fc1"};
    case LinearKind::kOuter:
      return {"fc2"};
    case LinearKind::kCandidate:
    case LinearKind::kForget:
      break;
  }
  return {};
}

const char* norm_name(NormKind kind) {
  switch (kind) {
    case NormKind::kEmbedding:
      return "layernorm_embedding";
    case NormKind::kSelf:
      return "self_attn_layer_norm";
    case NormKind::kCross:
      return "encoder_attn_layer_norm";
    case NormKind::kFeedForward:
      return "final_layer_norm";
    case NormKind::kFinal:
      return "layer_norm";
    case NormKind::kRecurrent:
      break;
  }
  return "";
}

}  // namespace

TransformerNames::Pair BartNames::linear(Side side, int layer, LinearKind kind, bool) const {
  const std::string scope = fmt::format("model.{}.layers.{}.", name_of(side), layer);
  Pair pair;
  for (const char* name : linear_names(kind)) {
    pair.weight.push_back({.name = scope + name + ".weight"});
    pair.bias.push_back({.name = scope + name + ".bias"});
  }
  return pair;
}

TransformerNames::Pair BartNames::norm(Side side, int layer, NormKind kind) const {
  const std::string scope = layer < 0 ? fmt::format("model.{}.{}", name_of(side), norm_name(kind))
                                      : fmt::format("model.{}.layers.{}.{}", name_of(side), layer, norm_name(kind));
  return {.weight = {{.name = scope + ".weight"}}, .bias = {{.name = scope + ".bias"}}};
}

WeightPart BartNames::table(TableKind kind) const {
  if (kind == TableKind::kOutput) return {.name = "lm_head.weight"};
  if (shared_) return {.name = "model.shared.weight"};
  return {.name =
              kind == TableKind::kSource ? "model.encoder.embed_tokens.weight" : "model.decoder.embed_tokens.weight"};
}

WeightPart BartNames::positions(Side side) const {
  return {.name = fmt::format("model.{}.embed_positions.weight", name_of(side))};
}

WeightPart BartNames::output_bias() const {
  return {.name = "final_logits_bias"};
}

}  // namespace dragoman::imports
