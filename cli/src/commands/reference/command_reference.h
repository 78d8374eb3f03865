#pragma once

#include <string>
#include <vector>

namespace dragoman::cli {

/// An option in a reference.
struct OptionReference {
  std::string name;    ///< without dashes
  std::string letter;  ///< of the short form, without a dash; empty: none
  std::string value;   ///< placeholder of the value: N, FILE...; empty: a switch
  std::string fallback;
  std::string help;

  bool takes_file() const { return value.starts_with("FILE") || value.starts_with("DIR") || value.starts_with("PATH"); }
};

struct CommandReference {
  std::string name;
  std::string summary;
  std::string examples;  ///< one per line
  std::string usage;     ///< usage_of()
  std::vector<OptionReference> options;
};

/// Returns all commands, from the tables with which they read their options.
std::vector<CommandReference> all_commands();

/// Returns docs/reference/commands.md.
std::string as_markdown(const std::vector<CommandReference>& commands);
/// Returns the manual page dragoman(1).
std::string as_man_page(const std::vector<CommandReference>& commands);
/// Return completions in the syntax of each shell.
std::string as_bash(const std::vector<CommandReference>& commands);
std::string as_zsh(const std::vector<CommandReference>& commands);
std::string as_fish(const std::vector<CommandReference>& commands);

}  // namespace dragoman::cli
