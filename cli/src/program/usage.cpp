#include "program/usage.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/name_hints.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> option_names(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back(option->long_name());
  return names;
}

/// Returns the other commands that have an option with this name.
std::vector<std::string> commands_with(const std::string& option, std::string_view but) {
  std::vector<std::string> names;
  for (const auto& command : make_commands()) {
    if (command->name() == but) continue;
    po::options_description options;
    command->add_options(options);
    if (contains(option_names(options), option)) names.push_back(fmt::format("`dragoman {}`", command->name()));
  }
  return names;
}

}  // namespace

std::string usage_of(const Command& command, const po::options_description& options) {
  const std::vector<std::string> positional = command.positional();
  std::string text(command.name());
  for (const auto& option : options.options()) {
    if (!option->semantic()->is_required() || contains(positional, option->long_name())) continue;
    text += fmt::format(" --{} {}", option->long_name(), option->format_parameter());
  }
  text += " [OPTIONS]";
  for (const std::string& name : positional) {
    const bool required = options.find(name, false).semantic()->is_required();
    text += fmt::format(fmt::runtime(required ? " {}" : " [{}]"), name);
  }
  return text;
}

std::string guess_option(const std::string& given, const Command& command, const po::options_description& options) {
  const std::vector<std::string> own = option_names(options);
  std::vector<std::string> known = own;
  const std::vector<std::string> keys = command.keys();
  known.insert(known.end(), keys.begin(), keys.end());
  core::NameHint hint = core::hint_name(given, {}, known);
  for (std::string& name : hint.names) name = contains(own, name) ? "--" + name : fmt::format("--set {}=VALUE", name);
  if (!hint.names.empty()) return core::did_you_mean(hint);
  const std::string plain = given.substr(std::min(given.find_first_not_of('-'), given.size()));
  if (const auto others = commands_with(plain, command.name()); !others.empty())
    return fmt::format("; it is an option of {}", fmt::join(others, ", "));
  std::vector<std::string> commands;
  for (const auto& other : make_commands())
    if (other->name() != command.name()) commands.emplace_back(other->name());
  core::NameHint other = core::hint_name(given, {}, commands);
  for (std::string& name : other.names) name = "dragoman " + name;
  return core::did_you_mean(other);
}

std::string guess_command(const std::string& given) {
  std::vector<std::string> names;
  for (const auto& command : make_commands()) names.emplace_back(command->name());
  return core::did_you_mean(given, {}, names);
}

}  // namespace dragoman::cli
