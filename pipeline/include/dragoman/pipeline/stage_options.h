#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/option_table.h>

namespace dragoman::pipeline {

/// A built-in stage, as documentation shows it.
struct BuiltInStage {
  std::string_view name;
  std::string_view summary;  ///< half a sentence
  const std::vector<core::Option>* options;
  /// Options with files whose content affects the lines, and options that do not affect the lines.
  std::vector<std::string> input_file_options{};
  std::vector<std::string> non_semantic_options{};
};

/// Returns all built-in stages. `read` and `write` are the first and the last stage of a pipeline.
const std::vector<BuiltInStage>& built_in_stages();
/// Returns nullptr if no built-in stage has that name.
const BuiltInStage* find_built_in_stage(std::string_view name);

}  // namespace dragoman::pipeline
