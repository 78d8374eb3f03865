#include "attention_kinds.h"
#include "dragoman/pipeline/aligner.h"

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>

namespace dragoman::pipeline {

using core::Json;
using core::OptionReader;

const core::OptionTable<AlignmentSettings>& alignment_table() {
  using Settings = AlignmentSettings;
  static const auto table =
      core::OptionTable<Settings>()
          .group("Alignment")
          .choice("units", &Settings::unit, {{"words", AlignmentUnit::kWords}, {"pieces", AlignmentUnit::kPieces}},
                  "UNITS", "unit of alignment: words (split at whitespace), or pieces of the tokenizer")
          .custom({number_list_option("layer", "N", "decoder layer whose attention is used, from 0; -1 is the last",
                                      "the model's", true)},
                  [](OptionReader& options, Settings& settings) {
                    const std::vector<int> layers = read_number_list(options, "layer", true);
                    options.check(layers.size() <= 1, "layer", "must be one number");
                    if (!layers.empty()) settings.layer = layers.front();
                  })
          .custom({number_list_option("heads", "LIST",
                                      "heads of that layer, such as 0-3, whose mean is used; without a layer, the "
                                      "heads that the model declares",
                                      "all of a given layer", false)},
                  [](OptionReader& options, Settings& settings) {
                    settings.heads = read_number_list(options, "heads", false);
                  })
          .choice("step", &Settings::step, {{"output", AlignmentStep::kOutput}, {"input", AlignmentStep::kInput}},
                  "STEP",
                  "attention of the step that predicts a target token (output), or of the step that reads it (input), "
                  "with which some models align better")
          .choice("context", &Settings::full_context, {{"causal", false}, {"full", true}}, "CONTEXT",
                  "target context of a step: causal (the preceding tokens, as in translation), or full (all tokens, "
                  "for models that were trained to align this way)")
          .number("threshold", &Settings::threshold, {.least = 0, .most = 1}, "X",
                  "use all links of at least this weight instead of the best link of each unit; 0: off")
          .choice("symmetrize", &Settings::symmetrization,
                  {{"intersection", corpus::Symmetrization::kIntersection},
                   {"union", corpus::Symmetrization::kUnion},
                   {"grow-diag", corpus::Symmetrization::kGrowDiag},
                   {"grow-diag-final", corpus::Symmetrization::kGrowDiagFinal},
                   {"grow-diag-final-and", corpus::Symmetrization::kGrowDiagFinalAnd}},
                  "HOW", "how the links of both directions are combined");
  return table;
}

void check(const AlignmentSettings& settings, const OptionReader& options) {
  options.check(settings.heads.empty() || settings.layer, "heads", "needs a layer: heads are numbered within one");
}

Json to_json(const PairAlignment& alignment) {
  const auto rows_of = [](const AlignmentWeights& weights) {
    Json rows = Json::array();
    for (std::int64_t i = 0; i < weights.rows; ++i) {
      Json row = Json::array();
      for (std::int64_t j = 0; j < weights.cols; ++j) row.push_back(static_cast<float>(weights.at(i, j)));
      rows.push_back(std::move(row));
    }
    return rows;
  };
  const auto weight_of = [&](const corpus::Link& link) {
    const double forward = alignment.weights.at(link.target, link.source);
    if (!alignment.reverse_weights) return forward;
    return (forward + alignment.reverse_weights->at(link.source, link.target)) / 2;
  };
  Json links = Json::array();
  for (const corpus::Link& link : alignment.links)
    links.push_back(Json::array({link.source, link.target, static_cast<float>(weight_of(link))}));
  Json json{{"alignment", std::move(links)},
            {"source", alignment.source},
            {"target", alignment.target},
            {"weights", rows_of(alignment.weights)}};
  if (alignment.reverse_weights) json["reverse_weights"] = rows_of(*alignment.reverse_weights);
  if (!alignment.error.empty()) json["error"] = alignment.error;
  return json;
}

}  // namespace dragoman::pipeline
