#include "command_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dragoman::cli {
namespace {

/// Returns text in single quotes for a shell.
std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string names_of(const std::vector<CommandReference>& commands) {
  std::vector<std::string> names;
  for (const CommandReference& command : commands) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string options_of(const CommandReference& command) {
  std::vector<std::string> options;
  for (const OptionReference& option : command.options) options.push_back("--" + option.name);
  return fmt::format("{}", fmt::join(options, " "));
}

/// Escapes brackets and colons, which have a meaning in a specification of zsh's _arguments.
std::string for_zsh(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

std::string as_bash(const std::vector<CommandReference>& commands) {
  std::string script =
      "# Completions of bash for dragoman; `dragoman reference --format bash` writes them.\n_dragoman() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} options=\n  COMPREPLY=()\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W " +
      in_quotes(names_of(commands)) + " -- \"$word\"))\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n";
  for (const CommandReference& command : commands)
    script += fmt::format("    {}) options={} ;;\n", command.name, in_quotes(options_of(command)));
  return script + "    help) options=" + in_quotes(names_of(commands)) +
         " ;;\n  esac\n"
         "  if [[ $word == -* || ${COMP_WORDS[1]} == help ]]; then COMPREPLY=($(compgen -W \"$options\" -- "
         "\"$word\")); fi\n"
         "}\ncomplete -o default -F _dragoman dragoman\n";
}

std::string as_zsh(const std::vector<CommandReference>& commands) {
  std::string script =
      "#compdef dragoman\n# Completions of zsh for dragoman; `dragoman reference --format zsh` writes them.\n"
      "local -a commands=(\n";
  for (const CommandReference& command : commands)
    script += "  " + in_quotes(command.name + ":" + for_zsh(command.summary)) + "\n";
  script += ")\nif (( CURRENT == 2 )); then\n  _describe command commands\n  return\nfi\ncase $words[2] in\n";
  for (const CommandReference& command : commands) {
    script += fmt::format("  {}) _arguments", command.name);
    for (const OptionReference& option : command.options) {
      std::string argument = fmt::format("--{}[{}]", option.name, for_zsh(option.help));
      if (!option.value.empty())
        argument += fmt::format(":{}:{}", for_zsh(option.value), option.takes_file() ? "_files" : "");
      script += " \\\n      " + in_quotes(argument);
    }
    script += " \\\n      '*:file:_files' ;;\n";
  }
  return script + "  help) _describe command commands ;;\nesac\n";
}

std::string as_fish(const std::vector<CommandReference>& commands) {
  std::string script = "# Completions of fish for dragoman; `dragoman reference --format fish` writes them.\n";
  for (const CommandReference& command : commands)
    script += fmt::format("complete -c dragoman -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                          in_quotes(command.summary));
  for (const CommandReference& command : commands)
    for (const OptionReference& option : command.options)
      script += fmt::format("complete -c dragoman -n '__fish_seen_subcommand_from {}' -l {}{}{} -d {}\n", command.name,
                            option.name, option.letter.empty() ? "" : " -s " + option.letter,
                            option.value.empty()  ? ""
                            : option.takes_file() ? " -r -F"
                                                  : " -x",
                            in_quotes(option.help));
  return script;
}

}  // namespace dragoman::cli
