#include "builtins.h"

#include <dragoman/core/options.h>
#include <dragoman/imports/importers.h>
#include <dragoman/t5/t5.h>
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

ModelEntry t5_entry() {
  return {.name = "t5",
          .summary = "T5 of Raffel et al. 2020, and T5 1.1, mT5, umT5 and MADLAD-400",
          .make = t5::make_t5,
          .example = {{"d_model", 8},
                      {"heads", 2},
                      {"head_width", 5},
                      {"feed_forward", 12},
                      {"encoder_layers", 2},
                      {"decoder_layers", 2},
                      {"relative_buckets", 4},
                      {"relative_distance", 3},
                      {"tied_output", true},
                      {"dropout", 0}}};
}

SearchStrategyEntry strategy_entry(const decoding::BuiltInStrategy& strategy) {
  return {
      std::string(strategy.name), std::string(strategy.summary),
      [make = strategy.make](const decoding::DecodingOptions& options, core::OptionReader&) { return make(options); }};
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
  registrar.add(t5_entry());
  for (const auto& strategy : decoding::built_in_strategies()) registrar.add(strategy_entry(strategy));
  for (const tokenizer::FileKind kind : tokenizer::registered_kinds()) registrar.add(tokenizer_entry(kind));
  for (imports::TokenizerEntry& kind : imports::built_in_tokenizers())
    registrar.add(TokenizerEntry{std::move(kind.name), std::move(kind.summary), kind.make, std::move(kind.example)});
  for (formats::ModelImporter& importer : imports::built_in_importers()) registrar.add(std::move(importer));
}

}  // namespace dragoman::plugins
