#include "weights/transformer_names.h"

#include <fmt/format.h>

namespace dragoman::imports {
namespace {

using transformer::Config;
using transformer::Tying;

const char* parameter_name(LinearKind kind) {
  switch (kind) {
    case LinearKind::kSelfQkv:
      return "self_attention.qkv";
    case LinearKind::kSelfOut:
      return "self_attention.out";
    case LinearKind::kCrossQ:
      return "cross_attention.q";
    case LinearKind::kCrossKv:
      return "cross_attention.kv";
    case LinearKind::kCrossOut:
      return "cross_attention.out";
    case LinearKind::kInner:
      return "feed_forward.in";
    case LinearKind::kOuter:
      return "feed_forward.out";
    case LinearKind::kCandidate:
      return "unit.candidate";
    case LinearKind::kForget:
      return "unit.forget";
  }
  return "";
}

const char* parameter_name(NormKind kind) {
  switch (kind) {
    case NormKind::kEmbedding:
      return "norm";
    case NormKind::kSelf:
      return "self_attention_norm";
    case NormKind::kCross:
      return "cross_attention_norm";
    case NormKind::kFeedForward:
      return "feed_forward_norm";
    case NormKind::kFinal:
      return "final_norm";
    case NormKind::kRecurrent:
      return "unit_norm";
  }
  return "";
}

/// Plans the parameters under their names in transformer::TransformerModel and its variants.
class Planner {
 public:
  Planner(const TransformerShape& shape, const TransformerNames& names)
      : shape_(shape), config_(shape.config), names_(names) {}

  WeightPlan plan() && {
    tables();
    stack(Side::kEncoder);
    stack(Side::kDecoder);
    return std::move(plan_);
  }

 private:
  void table(const char* parameter, TableKind kind, std::int64_t rows, std::int64_t cols, bool starts) {
    plan_.push_back({.parameter = parameter,
                     .rows = rows,
                     .cols = cols,
                     .parts = {names_.table(kind)},
                     .added = starts && shape_.adds_start ? 1 : 0});
  }

  void tables() {
    const std::int64_t source = shape_.sequences.source_vocabulary;
    const std::int64_t target = shape_.sequences.target_vocabulary;
    const std::int64_t width = config_.output_width == 0 ? config_.d_model : config_.output_width;
    const char* target_table = shape_.joint() ? "embedding.weight" : "target_embedding.weight";
    if (shape_.joint()) {
      table(target_table, TableKind::kSource, source, config_.d_model, true);
      if (shape_.untied_tables) table(target_table, TableKind::kTarget, target, config_.d_model, true);
    } else {
      table("source_embedding.weight", TableKind::kSource, source, config_.d_model, false);
      table(target_table, TableKind::kTarget, target, config_.d_model, true);
    }
    if (!transformer::ties_output(config_.tying))
      table("output.weight", TableKind::kOutput, target, width, true);
    else if (shape_.untied_tables)
      table(target_table, TableKind::kOutput, target, width, true);
    if (config_.output_width != 0)
      plan_.push_back({.parameter = "output_projection.weight",
                       .rows = width,
                       .cols = config_.d_model,
                       .parts = {names_.output_projection()}});
    if (config_.output_bias)
      plan_.push_back({.parameter = "output.bias",
                       .cols = target,
                       .is_vector = true,
                       .parts = {names_.output_bias()},
                       .added = shape_.adds_start ? 1 : 0,
                       .added_value = kNeverWritten,
                       .replaced_from = shape_.unused_from});
  }

  void vector(std::string parameter, std::int64_t size, std::vector<WeightPart> parts) {
    if (!parts.empty())
      plan_.push_back({.parameter = std::move(parameter), .cols = size, .is_vector = true, .parts = std::move(parts)});
  }

  void linear(Side side, int layer, int own, LinearKind kind, std::int64_t outputs, std::int64_t inputs) {
    const std::string scope = fmt::format("{}.layers.{}.{}", name_of(side), own, parameter_name(kind));
    TransformerNames::Pair pair = names_.linear(side, layer, kind, config_.activation.gated);
    plan_.push_back({.parameter = scope + ".weight", .rows = outputs, .cols = inputs, .parts = std::move(pair.weight)});
    vector(scope + ".bias", outputs, std::move(pair.bias));
  }

  void norm(const std::string& scope, Side side, int layer, NormKind kind) {
    TransformerNames::Pair pair = names_.norm(side, layer, kind);
    const std::string parameter = fmt::format("{}.{}", scope, parameter_name(kind));
    vector(parameter + ".weight", config_.d_model, std::move(pair.weight));
    vector(parameter + ".bias", config_.d_model, std::move(pair.bias));
  }

  void layer(Side side, int number, int own) {
    const std::string scope = fmt::format("{}.layers.{}", name_of(side), own);
    const std::int64_t d = config_.d_model;
    if (side == Side::kDecoder && shape_.recurrent) {
      norm(scope, side, number, NormKind::kRecurrent);
      linear(side, number, own, LinearKind::kCandidate, d, d);
      linear(side, number, own, LinearKind::kForget, d, d);
    } else {
      norm(scope, side, number, NormKind::kSelf);
      linear(side, number, own, LinearKind::kSelfQkv, 3 * d, d);
      linear(side, number, own, LinearKind::kSelfOut, d, d);
    }
    if (side == Side::kDecoder) {
      norm(scope, side, number, NormKind::kCross);
      linear(side, number, own, LinearKind::kCrossQ, d, d);
      linear(side, number, own, LinearKind::kCrossKv, 2 * d, d);
      linear(side, number, own, LinearKind::kCrossOut, d, d);
    }
    norm(scope, side, number, NormKind::kFeedForward);
    linear(side, number, own, LinearKind::kInner, (config_.activation.gated ? 2 : 1) * config_.feed_forward, d);
    linear(side, number, own, LinearKind::kOuter, d, config_.feed_forward);
  }

  void stack(Side side) {
    const bool encoder = side == Side::kEncoder;
    if (config_.positions == nn::PositionKind::kLearned) {
      const std::int64_t longest =
          encoder ? shape_.sequences.maximum_source_length : shape_.sequences.maximum_target_length;
      plan_.push_back({.parameter = fmt::format("{}.positions.weight", name_of(side)),
                       .rows = config_.position_offset + longest,
                       .cols = config_.d_model,
                       .parts = {names_.positions(side)}});
    }
    if (config_.embedding_norm) norm(name_of(side), side, -1, NormKind::kEmbedding);
    const auto& tied = encoder ? config_.encoder_tied_layers : config_.decoder_tied_layers;
    const int layers = encoder ? config_.encoder_layers : config_.decoder_layers;
    for (int i = 0; i < layers; ++i) {
      const int own = tied.empty() ? i : tied[static_cast<std::size_t>(i)];
      const bool first = tied.empty() || std::find(tied.begin(), tied.begin() + i, own) == tied.begin() + i;
      if (first || shape_.untied_layers) layer(side, shape_.untied_layers ? i : own, own);
    }
    if (config_.final_norm) norm(name_of(side), side, -1, NormKind::kFinal);
  }

  const TransformerShape& shape_;
  const Config& config_;
  const TransformerNames& names_;
  WeightPlan plan_;
};

}  // namespace

TransformerNames::~TransformerNames() = default;

WeightPlan plan_transformer(const TransformerShape& shape, const TransformerNames& names) {
  return Planner(shape, names).plan();
}

}  // namespace dragoman::imports
