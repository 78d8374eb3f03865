#include "weights/bart_names.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>

namespace dragoman::imports {
namespace {

std::vector<const char*> bart_linear_names(LinearKind kind) {
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

const char* bart_norm_name(NormKind kind) {
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

TransformerNames::Pair BartNames::linear(Side side, int layer, LinearKind kind, bool gated) const {
  core::require(!gated, core::ErrorCode::kUnsupported, "BART has no gated feed-forward layers");
  const std::string scope = fmt::format("{}{}.layers.{}.", options_.prefix, name_of(side), layer);
  Pair pair;
  for (const char* name : bart_linear_names(kind)) {
    pair.weight.push_back({.name = scope + name + ".weight"});
    pair.bias.push_back({.name = scope + name + ".bias"});
  }
  return pair;
}

TransformerNames::Pair BartNames::norm(Side side, int layer, NormKind kind) const {
  const std::string stack = options_.prefix + name_of(side);
  const std::string scope = layer < 0 ? fmt::format("{}.{}", stack, bart_norm_name(kind))
                                      : fmt::format("{}.layers.{}.{}", stack, layer, bart_norm_name(kind));
  return {.weight = {{.name = scope + ".weight"}}, .bias = {{.name = scope + ".bias"}}};
}

WeightPart BartNames::table(TableKind kind) const {
  if (kind == TableKind::kOutput) return {.name = options_.output};
  if (!options_.shared.empty()) return {.name = options_.shared};
  const Side side = kind == TableKind::kSource ? Side::kEncoder : Side::kDecoder;
  return {.name = fmt::format("{}{}.embed_tokens.weight", options_.prefix, name_of(side))};
}

WeightPart BartNames::positions(Side side) const {
  return {.name = fmt::format("{}{}.embed_positions.weight", options_.prefix, name_of(side))};
}

WeightPart BartNames::output_projection() const {
  return {.name = options_.prefix + "decoder.project_out_dim.weight"};
}

}  // namespace dragoman::imports
