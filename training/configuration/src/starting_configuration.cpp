#include "dragoman/training/starting_recipe.h"

#include <string_view>

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/core/sizes.h>
#include <dragoman/core/yaml.h>

namespace dragoman::training {
namespace {

/// "29,000".
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

/// A text as a scalar of YAML in block style, quoted if it has to be.
std::string scalar(const std::string& text) {
  std::string dumped = core::dump_yaml(core::Json(text));
  while (dumped.ends_with('\n')) dumped.pop_back();
  return dumped;
}

std::string pair_of_files(std::string_view key, const std::string& source, const std::string& target) {
  return fmt::format("  {}:\n    source: {}\n    target: {}\n", key, scalar(source), scalar(target));
}

std::string header(const CorpusSize& size, const StartingRecipe& recipe) {
  return fmt::format(
      "# A first configuration for {} sentence pairs with {} of source text and {} of target text.\n"
      "# The values follow {}. They are a starting point: change them as you like.\n"
      "# docs/reference/commands.md explains every key.\n"
      "\n"
      "# The folder of the run: checkpoints, metrics and trained models.\n"
      "output: {}\n",
      grouped(size.pairs), core::describe_size(size.source_bytes), core::describe_size(size.target_bytes),
      recipe.origin, kStartingOutput);
}

std::string data_section(const StartingFiles& files, const StartingRecipe& recipe) {
  std::string text = "\ndata:\n" + pair_of_files("train", files.source, files.target);
  if (files.validated()) {
    text += "  # These pairs choose the best model and can end training early.\n";
    text += pair_of_files("validation", files.validation_source, files.validation_target);
  } else {
    text += "  # Name other pairs to choose the best model by: validation: {source: FILE, target: FILE}\n";
  }
  return text + fmt::format(
                    "  # One vocabulary of {} pieces for both sides, which `dragoman learn-bpe` writes.\n"
                    "  tokenizer: {}\n",
                    grouped(static_cast<std::uint64_t>(recipe.vocabulary)), kStartingTokenizer);
}

std::string model_section(const StartingRecipe& recipe) {
  return fmt::format(
      "\nmodel:\n"
      "  # Width and depth: more text can train a larger model.\n"
      "  d_model: {}\n"
      "  heads: {}\n"
      "  feed_forward: {}\n"
      "  encoder_layers: {}\n"
      "  decoder_layers: {}\n"
      "  # Less text for a model of this size needs more dropout.\n"
      "  dropout: {{embedding: {}, sub_layer: {}, attention: {}}}\n",
      recipe.d_model, recipe.heads, recipe.feed_forward, recipe.layers, recipe.layers, recipe.dropout, recipe.dropout,
      recipe.attention_dropout);
}

std::string training_section(const StartingRecipe& recipe) {
  std::string text = fmt::format(
      "\ntraining:\n"
      "  # The text is read about {}.\n"
      "  updates: {}\n"
      "  # Most source tokens and most target tokens of a batch; memory grows with it.\n"
      "  batch_tokens: {}\n",
      recipe.epochs == 1 ? "once" : fmt::format("{} times", grouped(static_cast<std::uint64_t>(recipe.epochs))),
      recipe.updates, recipe.batch_tokens);
  if (recipe.accumulate > 1)
    text += fmt::format("  # Each update has {} tokens, in {} batches, so that memory stays small.\n  accumulate: {}\n",
                        grouped(static_cast<std::uint64_t>(recipe.batch_tokens * recipe.accumulate)), recipe.accumulate,
                        recipe.accumulate);
  text += fmt::format(
      "  # bf16 on processors and GPUs that multiply it faster, else fp32.\n"
      "  compute: auto\n"
      "  # Limits the norm of the gradient.\n"
      "  clip_norm: 1\n"
      "  # Validation and export use a moving average of the parameters.\n"
      "  ema_decay: 0.999\n"
      "  # The highest rate is 1/sqrt(d_model * warmup), as in Vaswani et al. 2017.\n"
      "  schedule: {{learning_rate: {}, warmup: {}}}\n",
      recipe.learning_rate, recipe.warmup);
  return text;
}

std::string validation_sections(const StartingFiles& files, const StartingRecipe& recipe) {
  std::string text;
  if (files.validated())
    text += fmt::format(
        "\nvalidation:\n"
        "  # The number of updates between validations.\n"
        "  every: {}\n"
        "  # Training ends early if neither the loss nor a score has improved in five validations.\n"
        "  patience: 5\n"
        "  stop_on: all\n"
        "  # Length penalties that are tried at the end; the best one becomes the default of the model.\n"
        "  tune: {{alpha: [1, 1.2, 1.4, 1.6, 1.8]}}\n",
        recipe.validation_every);
  return text + fmt::format(
                    "\ncheckpoint:\n  # A run that is interrupted and resumed repeats at most this many updates.\n  "
                    "every: {}\n",
                    recipe.validation_every);
}

}  // namespace

std::string starting_configuration(const StartingFiles& files, const CorpusSize& size, const StartingRecipe& recipe) {
  return header(size, recipe) + data_section(files, recipe) + model_section(recipe) + training_section(recipe) +
         validation_sections(files, recipe);
}

}  // namespace dragoman::training
