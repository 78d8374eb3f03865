#include "program/named_files.h"

#include "options/input_guard.h"
#include "program/command.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

struct NamedFile {
  std::string option;
  std::string name;
  bool is_default;
};

/// Where the name is in a value.
enum class Place { kNone, kWhole, kAfterEquals, kBeforeEquals };

Place place_of_name(const std::string& kind) {
  if (kind.find("=FILE") != std::string::npos || kind.find("=DIR") != std::string::npos) return Place::kAfterEquals;
  const auto begins = [&](std::string_view word) { return kind.starts_with(word); };
  if (std::ranges::none_of(std::array{"FILE", "DIR", "FOLDER", "PATH", "MODEL"}, begins)) return Place::kNone;
  return kind.find("[=") != std::string::npos ? Place::kBeforeEquals : Place::kWhole;
}

std::string name_in(const std::string& value, Place place) {
  std::error_code ignored;
  const std::size_t equals = place == Place::kBeforeEquals ? value.rfind('=') : value.find('=');
  if (place == Place::kWhole || equals == std::string::npos || std::filesystem::exists(value, ignored)) return value;
  return place == Place::kBeforeEquals ? value.substr(0, equals) : value.substr(equals + 1);
}

std::vector<NamedFile> named_files(const po::variables_map& values, const po::options_description& options) {
  std::vector<NamedFile> files;
  for (const auto& option : options.options()) {
    const Place place = place_of_name(option->semantic()->name());
    const auto given = values.find(option->long_name());
    if (place == Place::kNone || given == values.end()) continue;
    const boost::any& value = given->second.value();
    const auto add = [&](const std::string& text) {
      files.push_back({option->long_name(), name_in(text, place), given->second.defaulted()});
    };
    if (const auto* const one = boost::any_cast<std::string>(&value)) add(*one);
    if (const auto* const path = boost::any_cast<std::filesystem::path>(&value)) add(path->string());
    if (const auto* const several = boost::any_cast<std::vector<std::string>>(&value))
      std::ranges::for_each(*several, add);
  }
  return files;
}

}  // namespace

void check_named_files(const Command& command, const po::variables_map& values,
                       const po::options_description& options) {
  const std::vector<NamedFile> files = named_files(values, options);
  for (const NamedFile& file : files)
    if (file.name.empty() && !file.is_default)
      throw UsageError(fmt::format("--{}: the name of a file or folder is empty; is a variable not set?", file.option));
  const std::vector<std::string> written = command.written();
  const auto is_written = [&](const NamedFile& file) {
    return std::ranges::find(written, file.option) != written.end();
  };
  std::vector<std::filesystem::path> inputs;
  for (const NamedFile& file : files)
    if (!is_written(file)) inputs.emplace_back(file.name);
  for (const NamedFile& file : files)
    if (is_written(file) && !file.name.empty()) require_not_an_input(file.name, inputs, file.option);
}

}  // namespace dragoman::cli
