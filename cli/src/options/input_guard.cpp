#include "options/input_guard.h"

#include "program/command.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/input_guard.h>

namespace dragoman::cli {

void require_not_an_input(const std::string& output, const std::vector<std::filesystem::path>& inputs) {
  try {
    core::require_not_an_input(output, inputs);
  } catch (const core::Error& error) {
    throw UsageError(output == "-" ? error.what() : fmt::format("--output {}", error.what()));
  }
}

}  // namespace dragoman::cli
