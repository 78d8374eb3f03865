#include "options/init_options.h"

#include "options/input_guard.h"

#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/named_file.h>
#include <dragoman/core/process.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/yaml.h>
#include <dragoman/training/config.h>
#include <dragoman/training/starting_recipe.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

/// A file name as one word of a POSIX shell, without quotes if it needs none.
std::string shell_word(const std::string& name) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+:@%,-";
  const bool plain = !name.empty() && name.find_first_not_of(kPlain) == std::string::npos;
  return plain ? name : core::quote_for_shell(name);
}

/// The commands that follow: they learn the vocabulary, train and translate.
std::vector<std::string> next_commands(const std::string& configuration, const training::StartingFiles& files,
                                       const training::StartingRecipe& recipe) {
  const std::string coverage =
      recipe.character_coverage < 1 ? fmt::format(" --character-coverage {}", recipe.character_coverage) : "";
  return {fmt::format("dragoman learn-bpe --input {} {} --vocab-size {}{} --output {}", shell_word(files.source),
                      shell_word(files.target), recipe.vocabulary, coverage, training::kStartingTokenizer),
          fmt::format("dragoman train {}", shell_word(configuration)),
          fmt::format("dragoman translate --model {}/{} < FILE", training::kStartingOutput,
                      files.validated() ? "best" : "last")};
}

/// The commands as a comment. A line break in a file name would end it, and is therefore escaped.
std::string in_comment(const std::vector<std::string>& commands) {
  std::string text = "# Written by `dragoman train --init`. The commands that follow:\n#\n";
  for (const std::string& command : commands) text += fmt::format("#   {}\n", core::printable(command));
  return text + "#\n";
}

}  // namespace

void InitOptions::add_to(po::options_description& options) {
  options.add_options()(
      "init", po::bool_switch(&init_),
      "write a configuration for the files below to config, with values for the amount of text, and exit")(
      "source", po::value(&source_)->value_name("FILE"),
      "required with --init: source lines of the training text; gz and zst are recognised")(
      "target", po::value(&target_)->value_name("FILE"), "required with --init: their translations, line by line")(
      "validation-source", po::value(&validation_source_)->value_name("FILE"),
      "source lines of a text that chooses the best model and ends training early")(
      "validation-target", po::value(&validation_target_)->value_name("FILE"), "their translations")(
      "overwrite", po::bool_switch(&overwrite_), "replace config if it exists");
}

void InitOptions::check() const {
  const bool others =
      overwrite_ || !source_.empty() || !target_.empty() || !validation_source_.empty() || !validation_target_.empty();
  if (!init_ && others)
    throw UsageError(
        "--source, --target, --validation-source, --validation-target and --overwrite need --init; to train, the "
        "configuration names the files (data.train, data.validation)");
  if (!init_) return;
  if (source_.empty() || target_.empty()) throw UsageError("--init needs --source FILE and --target FILE");
  if (validation_source_.empty() != validation_target_.empty())
    throw UsageError("--validation-source and --validation-target go together; give both or neither");
}

void InitOptions::write(const std::string& configuration, const Session& session) const {
  namespace fs = std::filesystem;
  const training::StartingFiles files{.source = source_,
                                      .target = target_,
                                      .validation_source = validation_source_,
                                      .validation_target = validation_target_};
  std::error_code ignored;
  core::require(overwrite_ || configuration == "-" || !fs::exists(fs::symlink_status(configuration, ignored)),
                core::ErrorCode::kInvalidArgument,
                "{}: exists already; name another file, or pass --overwrite to replace it", configuration);
  require_not_an_input(configuration, {source_, target_, validation_source_, validation_target_}, "init");
  const training::CorpusSize size = training::measure_corpus(source_, target_, session.progress, session.stop);
  if (files.validated())
    training::measure_corpus(validation_source_, validation_target_, session.progress, session.stop);
  const training::StartingRecipe recipe = training::choose_recipe(size);
  const std::vector<std::string> commands = next_commands(configuration, files, recipe);
  const std::string text = in_comment(commands) + training::starting_configuration(files, size, recipe);
  // A name that YAML cannot hold is found now, and not when training begins.
  training::read_training_config(core::parse_yaml(text, configuration), configuration);
  core::write_named_file(configuration, text);
  if (configuration == "-") return;
  fmt::print("{}: values for {} sentence pairs. Next:\n", configuration, size.pairs);
  for (const std::string& command : commands) fmt::print("  {}\n", command);
}

}  // namespace dragoman::cli
