#pragma once

#include <string>
#include <vector>

namespace dragoman::cli {

/// An option as a reference shows it.
struct OptionReference {
  std::string name;    ///< without dashes
  std::string letter;  ///< of the short form, without a dash; empty: none
  std::string value;   ///< what it takes: N, FILE...; empty: a switch
  std::string fallback;
  std::string help;

  bool takes_file() const { return value.starts_with("FILE") || value.starts_with("DIR") || value.starts_with("PATH"); }
};

struct CommandReference {
  std::string name;
  std::string summary;
  std::string examples;  ///< one a line
  std::string usage;     ///< usage_of()
  std::vector<OptionReference> options;
};

/// All commands, out of the tables with which they read their options.
std::vector<CommandReference> all_commands();

/// docs/reference/commands.md.
std::string as_markdown(const std::vector<CommandReference>& commands);
/// The manual page dragoman(1).
std::string as_man_page(const std::vector<CommandReference>& commands);
/// Completions, as each shell reads them.
std::string as_bash(const std::vector<CommandReference>& commands);
std::string as_zsh(const std::vector<CommandReference>& commands);
std::string as_fish(const std::vector<CommandReference>& commands);

}  // namespace dragoman::cli
