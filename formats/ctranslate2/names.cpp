#include "ctranslate2/names.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>

namespace dragoman::imports {
namespace {

const char* linear_name(LinearKind kind) {
  switch (kind) {
    case LinearKind::kSelfQkv:
      return "self_attention/linear_0";
    case LinearKind::kSelfOut:
      return "self_attention/linear_1";
    case LinearKind::kCrossQ:
      return "attention/linear_0";
    case LinearKind::kCrossKv:
      return "attention/linear_1";
    case LinearKind::kCrossOut:
      return "attention/linear_2";
    case LinearKind::kInner:
      return "ffn/linear_0";
    case LinearKind::kOuter:
      return "ffn/linear_1";
    case LinearKind::kCandidate:
    case LinearKind::kForget:
      break;
  }
  core::fail(core::ErrorCode::kUnsupported, "CTranslate2 has no recurrent units");
}

const char* norm_name(NormKind kind) {
  switch (kind) {
    case NormKind::kEmbedding:
      return "layernorm_embedding";
    case NormKind::kSelf:
      return "self_attention/layer_norm";
    case NormKind::kCross:
      return "attention/layer_norm";
    case NormKind::kFeedForward:
      return "ffn/layer_norm";
    case NormKind::kFinal:
      return "layer_norm";
    case NormKind::kRecurrent:
      break;
  }
  core::fail(core::ErrorCode::kUnsupported, "CTranslate2 has no recurrent units");
}

std::string scope_of(Side side, int layer) {
  return layer < 0 ? std::string(name_of(side)) : fmt::format("{}/layer_{}", name_of(side), layer);
}

}  // namespace

TransformerNames::Pair Ctranslate2Names::linear(Side side, int layer, LinearKind kind, bool gated) const {
  const std::string scope = fmt::format("{}/{}", scope_of(side, layer), linear_name(kind));
  Pair pair{.weight = {{.name = scope + "/weight"}}, .bias = {{.name = scope + "/bias", .optional = true}}};
  if (kind == LinearKind::kInner && gated) {
    pair.weight.push_back({.name = scope + "_noact/weight"});
    pair.bias.push_back({.name = scope + "_noact/bias", .optional = true});
  }
  return pair;
}

TransformerNames::Pair Ctranslate2Names::norm(Side side, int layer, NormKind kind) const {
  const std::string scope = fmt::format("{}/{}", scope_of(side, layer), norm_name(kind));
  return {.weight = {{.name = scope + "/gamma"}}, .bias = {{.name = scope + "/beta"}}};
}

WeightPart Ctranslate2Names::table(TableKind kind) const {
  switch (kind) {
    case TableKind::kSource:
      return {.name = source_table_};
    case TableKind::kTarget:
      return {.name = "decoder/embeddings/weight"};
    case TableKind::kOutput:
      break;
  }
  return {.name = "decoder/projection/weight"};
}

WeightPart Ctranslate2Names::positions(Side side) const {
  return {.name = fmt::format("{}/position_encodings/encodings", name_of(side))};
}

}  // namespace dragoman::imports
