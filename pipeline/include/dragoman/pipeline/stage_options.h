#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/option_table.h>

namespace dragoman::pipeline {

/// A stage that needs no plugin, as people see it.
struct BuiltInStage {
  std::string_view name;
  std::string_view summary;  ///< half a sentence
  const std::vector<core::Option>* options;
  /// Options that name files whose content decides about the lines, and options that decide nothing about them.
  std::vector<std::string> input_file_options{};
  std::vector<std::string> non_semantic_options{};
};

/// All of them; `read` and `write` are the first and the last of a pipeline.
const std::vector<BuiltInStage>& built_in_stages();
/// nullptr if no built-in stage has that name.
const BuiltInStage* find_built_in_stage(std::string_view name);

}  // namespace dragoman::pipeline
