#include "compute.h"

#include <fmt/format.h>

#include <dragoman/core/json.h>

namespace dragoman::cli {
namespace {

using core::Json;
using decoding::LayerError;
using decoding::PredictionError;

std::string place_of(const LayerError& layer) {
  const char* side = layer.of_decoder ? "decoder" : "encoder";
  if (layer.layer == LayerError::kFinal) return fmt::format("{} output", side);
  if (layer.layer == 0) return fmt::format("{} embeddings", side);
  return fmt::format("{} layer {}", side, layer.layer);
}

Json to_json(const LayerError& layer) {
  return {{"side", layer.of_decoder ? "decoder" : "encoder"},
          {"layer", layer.layer == LayerError::kFinal ? Json("final") : Json(layer.layer)},
          {"relative_error", layer.error.relative},
          {"cosine", layer.error.cosine},
          {"largest_error", layer.error.largest}};
}

Json to_json(const PredictionError& error) {
  return {{"kl_divergence", error.kl_divergence},
          {"largest_kl_divergence", error.largest_kl_divergence},
          {"changed_best", error.changed_best},
          {"cross_entropy", error.cross_entropy},
          {"reference_cross_entropy", error.reference_cross_entropy}};
}

Json to_json(const pipeline::ComputeComparison::Entry& entry) {
  Json layers = Json::array();
  for (const LayerError& layer : entry.comparison.layers) layers.push_back(to_json(layer));
  return {{"type", entry.type}, {"layers", std::move(layers)}, {"predictions", to_json(entry.comparison.predictions)}};
}

std::string layer_table(const pipeline::ComputeComparison& comparison) {
  std::string table = fmt::format("\n  {:<22}", fmt::format("error against {}", comparison.reference));
  for (const auto& entry : comparison.types) table += fmt::format("  {:<32}", entry.type);
  table += fmt::format("\n  {:<22}", "");
  for (std::size_t i = 0; i < comparison.types.size(); ++i)
    table += fmt::format("  {:<10} {:<10} {:<10}", "relative", "1-cosine", "largest");
  for (std::size_t row = 0; row < comparison.types.front().comparison.layers.size(); ++row) {
    table += fmt::format("\n  {:<22}", place_of(comparison.types.front().comparison.layers[row]));
    for (const auto& entry : comparison.types) {
      const decoding::StateError& error = entry.comparison.layers[row].error;
      table += fmt::format("  {:<10.3g} {:<10.3g} {:<10.3g}", error.relative, 1 - error.cosine, error.largest);
    }
  }
  return table + "\n";
}

std::string prediction_table(const pipeline::ComputeComparison& comparison) {
  std::string table = fmt::format("\n  {:<22}", "predictions");
  for (const auto& entry : comparison.types) table += fmt::format("  {:<32}", entry.type);
  const auto row = [&](const char* label, const auto& value_of) {
    table += fmt::format("\n  {:<22}", label);
    for (const auto& entry : comparison.types) table += fmt::format("  {:<32}", value_of(entry.comparison.predictions));
  };
  row("KL divergence", [](const PredictionError& error) {
    return fmt::format("{:.3g}, largest {:.3g}", error.kl_divergence, error.largest_kl_divergence);
  });
  row("another best token",
      [](const PredictionError& error) { return fmt::format("{:.3f} %", 100 * error.changed_best); });
  row("cross entropy", [&](const PredictionError& error) {
    return fmt::format("{:.5f}, {} {:.5f}", error.cross_entropy, comparison.reference, error.reference_cross_entropy);
  });
  return table + "\n";
}

}  // namespace

Report describe_compute_comparison(const pipeline::ComputeComparison& comparison) {
  Report report;
  report.add_value("reference", comparison.reference);
  report.add_value("sentences", comparison.sentences);
  report.add_value("source_tokens", comparison.source_tokens);
  report.add_value("target_tokens", comparison.target_tokens);
  report.add_row("compared on", fmt::format("{} sentences, {} source and {} target tokens", comparison.sentences,
                                            comparison.source_tokens, comparison.target_tokens));
  Json types = Json::array();
  for (const auto& entry : comparison.types) types.push_back(to_json(entry));
  report.add_value("types", std::move(types));
  report.add_table(layer_table(comparison));
  report.add_table(prediction_table(comparison));
  return report;
}

}  // namespace dragoman::cli
