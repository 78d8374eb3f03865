#include "marian/names.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>

namespace dragoman::imports {
namespace {

struct LinearName {
  const char* sub_layer;
  std::vector<const char*> suffixes;
  bool bias = true;
};

LinearName linear_name(LinearKind kind) {
  switch (kind) {
    case LinearKind::kSelfQkv:
      return {"self", {"q", "k", "v"}};
    case LinearKind::kSelfOut:
      return {"self", {"o"}};
    case LinearKind::kCrossQ:
      return {"context", {"q"}};
    case LinearKind::kCrossKv:
      return {"context", {"k", "v"}};
    case LinearKind::kCrossOut:
      return {"context", {"o"}};
    case LinearKind::kInner:
      return {"ffn", {"1"}};
    case LinearKind::kOuter:
      return {"ffn", {"2"}};
    case LinearKind::kCandidate:
      return {"rnn", {""}, false};
    case LinearKind::kForget:
      return {"rnn", {"f"}};
  }
  return {};
}

}  // namespace

std::string MarianNames::scope(Side side, int layer) const {
  const bool numbered = side == Side::kDecoder && !options_.decoder_numbers.empty();
  return fmt::format("{}_l{}", name_of(side),
                     numbered ? options_.decoder_numbers[static_cast<std::size_t>(layer)] : layer + 1);
}

TransformerNames::Pair MarianNames::linear(Side side, int layer, LinearKind kind, bool gated) const {
  core::require(!gated, core::ErrorCode::kUnsupported, "Marian has no gated feed-forward layers");
  const LinearName name = linear_name(kind);
  const std::string prefix = fmt::format("{}_{}", scope(side, layer), name.sub_layer);
  Pair pair;
  for (const char* suffix : name.suffixes) {
    pair.weight.push_back({.name = fmt::format("{}_W{}", prefix, suffix), .turned = true});
    if (name.bias) pair.bias.push_back({.name = fmt::format("{}_b{}", prefix, suffix)});
  }
  return pair;
}

TransformerNames::Pair MarianNames::norm(Side side, int layer, NormKind kind) const {
  const auto named = [](const std::string& prefix, bool pre) {
    const char* suffix = pre ? "_pre" : "";
    return Pair{.weight = {{.name = fmt::format("{}_ln_scale{}", prefix, suffix)}},
                .bias = {{.name = fmt::format("{}_ln_bias{}", prefix, suffix)}}};
  };
  const bool pre = options_.pre_norm;
  switch (kind) {
    case NormKind::kEmbedding:
      return named(fmt::format("{}_emb", name_of(side)), true);
    case NormKind::kFinal:
      return named(fmt::format("{}_top", name_of(side)), false);
    case NormKind::kSelf:
      return named(scope(side, layer) + "_self_Wo", pre);
    case NormKind::kCross:
      return named(scope(side, layer) + "_context_Wo", pre);
    case NormKind::kFeedForward:
      return named(scope(side, layer) + "_ffn_ffn", pre);
    case NormKind::kRecurrent:
      return named(scope(side, layer) + (pre ? "_rnn" : "_rnn_ffn"), pre);
  }
  return {};
}

WeightPart MarianNames::table(TableKind kind) const {
  switch (kind) {
    case TableKind::kSource:
      return {.name = options_.shares_tables ? "Wemb" : "encoder_Wemb"};
    case TableKind::kTarget:
      return {.name = options_.shares_tables ? "Wemb" : "decoder_Wemb"};
    case TableKind::kOutput:
      break;
  }
  if (options_.output_is_turned) return {.name = "decoder_ff_logit_out_W", .turned = true};
  return {.name = "decoder_ff_logit_out_Wt"};
}

WeightPart MarianNames::output_projection() const {
  core::fail(core::ErrorCode::kUnsupported, "Marian has no projection in front of the output matrix");
}

}  // namespace dragoman::imports
