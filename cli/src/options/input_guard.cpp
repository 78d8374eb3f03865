#include "options/input_guard.h"

#include "program/command.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/input_guard.h>

namespace dragoman::cli {

void require_not_an_input(const std::string& output, const std::vector<std::filesystem::path>& inputs,
                          const std::string& option) {
  try {
    core::require_not_an_input(output, inputs);
  } catch (const core::Error& error) {
    throw UsageError(output == "-" ? error.what() : fmt::format("--{} {}", option, error.what()));
  }
}

void require_named(const char* option, const std::string& name) {
  if (name.empty()) throw UsageError(std::string(option) + ": the name of the folder is empty; is a variable not set?");
}

}  // namespace dragoman::cli
