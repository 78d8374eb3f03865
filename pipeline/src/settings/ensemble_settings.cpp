#include "dragoman/pipeline/ensemble.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/json.h>

namespace dragoman::pipeline {
namespace {

/// Reads a YAML list.
std::vector<double> read_ensemble_weights(core::OptionReader& options) {
  const core::Json& list = options.subtree("ensemble_weights");
  options.check(list.is_array(), "ensemble_weights", "must be a list of numbers above 0");
  std::vector<double> weights;
  for (const core::Json& weight : list) {
    options.check(weight.is_number() && core::kPositive.contains(weight.get<double>()), "ensemble_weights",
                  "must be a list of numbers above 0");
    weights.push_back(weight.get<double>());
  }
  return weights;
}

void read_ensemble(core::OptionReader& options, EnsembleOptions& ensemble) {
  if (options.has("ensemble")) {
    const core::Json& list = options.subtree("ensemble");
    options.check(list.is_array(), "ensemble", "must be a list of model folders");
    for (const core::Json& model : list) {
      options.check(model.is_string() && !model.get<std::string>().empty(), "ensemble",
                    "must be a list of model folders");
      ensemble.models.push_back(model.get<std::string>());
    }
  }
  if (options.has("ensemble_weights")) ensemble.weights = read_ensemble_weights(options);
  options.check(ensemble.weights.empty() || ensemble.weights.size() == ensemble.models.size() + 1, "ensemble_weights",
                fmt::format("holds {} weights for {} models; the first is that of model", ensemble.weights.size(),
                            ensemble.models.size() + 1));
}

}  // namespace

const core::OptionTable<EnsembleOptions>& ensemble_table() {
  using Options = EnsembleOptions;
  static const auto table =
      core::OptionTable<Options>()
          .group("Ensemble")
          .custom(
              {{.name = "ensemble",
                .placeholder = "DIR",
                .help = "another model of an ensemble with the first one: of any kind, with the same tokenizer (YAML: "
                        "a list)",
                .parse = [](const std::string& word) { return core::Json::array({word}); },
                .repeated = true},
               {.name = "ensemble_weights",
                .placeholder = "X,...",
                .help =
                    "weights of all models, including the first one; only ratios matter (YAML: a list; default: equal)",
                .parse =
                    [](const std::string& word) {
                      core::Json list = core::Json::array();
                      for (std::size_t begin = 0; begin <= word.size();) {
                        const std::size_t end = std::min(word.find(',', begin), word.size());
                        list.push_back(core::number_parser(core::kPositive)(word.substr(begin, end - begin)));
                        begin = end + 1;
                      }
                      return list;
                    }}},
              read_ensemble)
          .choice("ensemble_mean", &Options::mean,
                  {{"probability", decoding::EnsembleMean::kProbability},
                   {"log-probability", decoding::EnsembleMean::kLogProbability}},
                  "KIND", "quantity that is averaged: probability, as in fairseq, or log-probability, as in Marian");
  return table;
}

}  // namespace dragoman::pipeline
