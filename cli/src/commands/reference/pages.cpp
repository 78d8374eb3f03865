#include "command_reference.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/json.h>
#include <dragoman/pipeline/stage_options.h>
#include <dragoman/t5/option_table.h>
#include <dragoman/training/option_table.h>
#include <dragoman/transformer/option_table.h>

namespace dragoman::cli {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

bool is_common(const OptionReference& option) {
  return option.name == "help" || option.name == "quiet" || option.name == "progress";
}

std::string spelled(const OptionReference& option) {
  const std::string letter = option.letter.empty() ? "" : fmt::format("-{}, ", option.letter);
  return fmt::format("{}--{}{}{}", letter, option.name, option.value.empty() ? "" : " ", option.value);
}

std::string escaped(const std::string& text) {
  return replaced(replaced(replaced(text, "<", "&lt;"), "|", "\\|"), "*", "\\*");
}

std::string markdown_row(const OptionReference& option) {
  const std::string fallback = option.fallback.empty() ? "" : fmt::format("`{}`", option.fallback);
  return fmt::format("| `{}` | {} | {} |\n", spelled(option), fallback, escaped(option.help));
}

/// Returns a table of YAML keys from the options of an option table.
std::string markdown_table(const std::vector<core::Option>& options) {
  std::string table = "\n| key | value | default | |\n|---|---|---|---|\n";
  for (const core::Option& option : options) {
    const std::string value = !option.choices.empty()      ? fmt::format("{}", fmt::join(option.choices, ", "))
                              : option.placeholder.empty() ? "true or false"
                                                           : option.placeholder;
    const core::Json& said = option.fallback.get();
    const std::string fallback = said.is_null()     ? ""
                                 : said.is_string() ? said.get<std::string>()
                                                    : core::one_line(said);
    table += fmt::format("| `{}` | {} | {} | {} |\n", option.name, escaped(value),
                         fallback.empty() ? "" : fmt::format("`{}`", fallback), escaped(option.help));
  }
  return table;
}

std::string settings_as_markdown() {
  std::string page =
      "\n# Keys\n\nThe keys of YAML files, from the tables with which the program reads them.\n"
      "\n## Training configurations\n\nA training configuration is the argument of `dragoman train FILE`.\n"
      "[training.md](../guides/training.md) explains the keys, and\n"
      "[train.yml](../../examples/multi30k/train.yml) is an example.\n"
      "`train --dump-config` prints every key of a configuration with its value.\n";
  page += markdown_table(training::config_options());
  page +=
      "\n### Keys of a Transformer\n\nThese keys belong to `model` if its `type` is `transformer`.\n"
      "`train --dump-config` shows the keys of a plugin's model type.\n";
  page += markdown_table(transformer::option_table().options());
  page +=
      "\n### Keys of a T5\n\nThese keys belong to `model` if its `type` is `t5`.\n[t5.md](../concepts/t5.md) explains "
      "them.\n";
  page += markdown_table(t5::option_table().options());
  page +=
      "\n## Stages of pipelines\n\nThe stages of a pipeline for `dragoman run FILE`: see "
      "[pipelines.md](../guides/pipelines.md).\nKeys may contain `-` instead of `_`.\n";
  for (const pipeline::BuiltInStage& stage : pipeline::built_in_stages())
    page += fmt::format("\n### {}\n\n{}.\n{}", stage.name, stage.summary, markdown_table(*stage.options));
  return page;
}

/// Escapes a line of text so that it contains no request or macro of roff.
std::string roff(std::string text) {
  text = replaced(replaced(std::move(text), "\\", "\\e"), "-", "\\-");
  if (text.starts_with('.') || text.starts_with('\'')) text.insert(0, "\\&");
  return text;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return text;
}

}  // namespace

std::string as_markdown(const std::vector<CommandReference>& commands) {
  std::string page =
      "# Commands\n\n"
      "This page contains the text of `dragoman COMMAND --help` for all commands.\n"
      "`dragoman reference` generates it.\n"
      "Every command also accepts `-h, --help`, `-q, --quiet` (only warnings and errors) and\n"
      "`--progress auto|json|none`.\n"
      "Options before `[OPTIONS]` and names without brackets are required.\n"
      "The value of an option after `[OPTIONS]` may be given without `--NAME`.\n";
  for (const CommandReference& command : commands) {
    page += fmt::format("\n## {}\n\n`dragoman {}`: {}.\n", command.name, command.usage, command.summary);
    if (!command.examples.empty())
      page += fmt::format("\n<!-- not run by tests: files that you have -->\n\n```\n{}```\n", command.examples);
    std::string rows;
    for (const OptionReference& option : command.options)
      if (!is_common(option)) rows += markdown_row(option);
    if (!rows.empty()) page += "\n| option | default | |\n|---|---|---|\n" + rows;
  }
  return page + settings_as_markdown();
}

std::string as_man_page(const std::vector<CommandReference>& commands) {
  std::string page =
      ".TH DRAGOMAN 1\n.SH NAME\ndragoman \\- neural machine translation\n.SH SYNOPSIS\n"
      ".B dragoman\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH COMMANDS\n";
  for (const CommandReference& command : commands)
    page += fmt::format(".TP\n.B {}\n{}\n", roff(command.name), roff(command.summary));
  for (const CommandReference& command : commands) {
    page += fmt::format(".SH {}\n.B dragoman {}\n{}\n.PP\n{}.\n", roff(upper(command.name)), roff(command.name),
                        roff(command.usage.substr(command.name.size() + 1)), roff(command.summary));
    if (!command.examples.empty()) {
      page += ".PP\n.nf\n";
      for (std::size_t begin = 0; begin < command.examples.size();) {
        const std::size_t end = command.examples.find('\n', begin);
        page += roff(command.examples.substr(begin, end - begin)) + "\n";
        begin = end + 1;
      }
      page += ".fi\n";
    }
    for (const OptionReference& option : command.options) {
      const std::string fallback = option.fallback.empty() ? "" : fmt::format(" (default: {})", option.fallback);
      page += fmt::format(".TP\n.B {}\n{}\n", roff(spelled(option)), roff(option.help + fallback));
    }
  }
  return page;
}

}  // namespace dragoman::cli
