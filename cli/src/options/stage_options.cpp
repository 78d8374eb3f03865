#include "options/stage_options.h"

#include "options/option_group.h"
#include "program/command.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/pipeline/stage_options.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

std::string as_written(std::string_view name) {
  std::string written(name);
  std::ranges::replace(written, '_', '-');
  return written;
}

std::string without_letter(const std::string& name) {
  return name.substr(0, name.find(','));
}

core::Json parse(const std::string& name, const core::Option& option, const std::string& word) {
  try {
    return option.parse(word);
  } catch (const core::Error& error) {
    throw UsageError(fmt::format("--{} '{}': {}", name, word, error.what()));
  }
}

/// Adds the allowed values to the help if the text does not contain them.
std::string help_of(const core::Option& option) {
  const bool names_all = std::ranges::all_of(
      option.choices, [&](const std::string& choice) { return option.help.find(choice) != std::string::npos; });
  return names_all ? option.help : fmt::format("{}: {}", option.help, fmt::join(option.choices, ", "));
}

/// Appends to the values that an option was given before.
void add_value(core::Json& all, const core::Json& value) {
  if (value.is_array())
    for (const core::Json& element : value) all.push_back(element);
  else
    all.update(value, true);
}

}  // namespace

StageOptions::StageOptions(std::string_view stage, std::vector<std::string_view> hidden)
    : options_(pipeline::find_built_in_stage(stage)->options), hidden_(std::move(hidden)) {}

void StageOptions::add_to(po::options_description& options) {
  std::vector<std::string> titles;
  for (const core::Option& option : *options_)
    if (std::ranges::find(titles, option.group) == titles.end()) titles.push_back(option.group);
  for (const std::string& title : titles) {
    po::options_description group = option_group(title);
    add_group_to(title, group);
    if (!group.options().empty()) options.add(group);
  }
}

void StageOptions::add_group_to(std::string_view title, po::options_description& options) {
  for (const core::Option& option : *options_)
    if (option.group == title && std::ranges::find(hidden_, option.name) == hidden_.end())
      add(flag_of(option), option, options);
}

std::string StageOptions::flag_of(const core::Option& option) const {
  if (const auto named = flags_.find(option.name); named != flags_.end()) return named->second;
  return as_written(option.negation.empty() ? option.name : "no_" + option.name);
}

void StageOptions::add_as(const std::string& name, std::string_view option, po::options_description& options) {
  add(name, *std::ranges::find(*options_, option, &core::Option::name), options);
}

void StageOptions::add_required(const std::string& name, std::string_view option, po::options_description& options) {
  add(name, *std::ranges::find(*options_, option, &core::Option::name), options, true);
}

void StageOptions::add(const std::string& name, const core::Option& option, po::options_description& options,
                       bool required) {
  const std::string word = without_letter(name);
  if (option.placeholder.empty()) {
    const bool turns_on = option.negation.empty();
    auto* value = po::bool_switch()->notifier([this, key = option.name, turns_on](bool given) {
      if (given)
        set(key, turns_on);
      else
        settings_[key] = !turns_on;
    });
    options.add_options()(name.c_str(), value, (turns_on ? help_of(option) : option.negation).c_str());
    return;
  }
  if (option.repeated) {
    auto* values = po::value<std::vector<std::string>>()->composing()->value_name(option.placeholder);
    if (option.placeholder.ends_with("...")) values->multitoken();
    values->notifier([this, word, &option](const std::vector<std::string>& texts) {
      for (const std::string& text : texts) add_value(settings_[option.name], parse(word, option, text));
      said_[option.name] = settings_[option.name];
    });
    options.add_options()(name.c_str(), values, help_of(option).c_str());
    return;
  }
  std::string shown = option.placeholder;
  // Not a default of program_options, which does not distinguish defaults from given values.
  if (const core::Json& fallback = option.fallback.get(); !fallback.is_null()) {
    settings_[option.name] = fallback;
    shown += fmt::format(" (={})", fallback.is_string() ? fallback.get<std::string>() : core::one_line(fallback));
  }
  auto* value = po::value<std::string>()->value_name(shown);
  value->notifier([this, word, &option](const std::string& text) { set(option.name, parse(word, option, text)); });
  if (required) value->required();
  options.add_options()(name.c_str(), value, ((required ? "required: " : "") + help_of(option)).c_str());
}

}  // namespace dragoman::cli
