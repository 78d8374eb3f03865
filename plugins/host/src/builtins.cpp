#include "builtins.h"

#include <dragoman/core/options.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::plugins {
namespace {

ModelEntry transformer_entry() {
  return {.name = "transformer",
          .summary = "the Transformer of Vaswani et al. 2017 and its common variants",
          .make = transformer::make_transformer,
          .example = {{"d_model", 8},
                      {"heads", 2},
                      {"feed_forward", 12},
                      {"encoder_layers", 2},
                      {"decoder_layers", 2},
                      {"output_bias", true},
                      {"dropout", 0}}};
}

/// The built-in searches have no options but the common ones.
SearchStrategyEntry strategy_entry(
    std::string name, std::string summary,
    std::unique_ptr<decoding::SearchStrategy> (*make)(const decoding::DecodingOptions&)) {
  return {std::move(name), std::move(summary),
          [make](const decoding::DecodingOptions& options, core::OptionReader&) { return make(options); }};
}

TokenizerEntry tokenizer_entry(tokenizer::FileKind kind) {
  return {std::string(tokenizer::name_of(kind)), std::string(tokenizer::summary_of(kind)),
          [kind](const tokenizer::TokenizerFile& file, core::OptionReader& own) {
            return tokenizer::make_tokenizer(kind, file, own);
          },
          tokenizer::example_of(kind)};
}

}  // namespace

void register_builtins(Registrar& registrar) {
  registrar.add(transformer_entry());
  registrar.add(strategy_entry("beam", "beam search: the best of several hypotheses", decoding::make_beam));
  registrar.add(strategy_entry("greedy", "the most probable token at each step", decoding::make_greedy));
  registrar.add(strategy_entry("sampling", "random draws (temperature, top-k, top-p)", decoding::make_sampling));
  for (const tokenizer::FileKind kind : tokenizer::registered_kinds()) registrar.add(tokenizer_entry(kind));
}

}  // namespace dragoman::plugins
