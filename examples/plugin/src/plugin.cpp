#include "average_attention.h"
#include "frequency_penalty.h"
#include "longest_match.h"
#include "min_p_sampling.h"
#include "numpy_arrays.h"
#include "squeeze.h"

#include <dragoman/plugins/plugin.h>
#include <dragoman/transformer/transformer_variant.h>

namespace {

using namespace dragoman;

void register_example(plugins::Registrar& registrar) {
  registrar.add(plugins::ModelEntry{.name = "average-attention",
                                    .summary = "Transformer whose decoder averages its history (Zhang et al. 2018)",
                                    .make = transformer::TransformerVariant<example::AverageAttention>::make,
                                    .example = {{"d_model", 8},
                                                {"heads", 2},
                                                {"feed_forward", 12},
                                                {"encoder_layers", 1},
                                                {"decoder_layers", 2},
                                                {"dropout", 0}}});
  registrar.add(plugins::SearchStrategyEntry{"min-p", "min-p sampling (Nguyen et al. 2024)", example::make_min_p});
  registrar.add(plugins::LogitsProcessorEntry{
      "frequency-penalty", "tokens become less likely each time they are said",
      [](const nn::SequenceSpec&, core::OptionReader& own) { return example::make_frequency_penalty(own); }});
  registrar.add(plugins::TokenizerEntry{"longest-match", "the longest pieces of a list, from left to right",
                                        example::make_longest_match, example::longest_match_example()});
  registrar.add(plugins::StageEntry{"squeeze", "blanks in a row become one", example::make_squeeze});
  registrar.add(plugins::ModelImporterEntry{"numpy-arrays", "config.json, tokenizer.json and weights as NumPy arrays",
                                            example::open_numpy_arrays, example::is_folder_of_numpy_arrays,
                                            example::write_numpy_arrays_example});
}

}  // namespace

DRAGOMAN_PLUGIN("example", "Apache-2.0", register_example)
