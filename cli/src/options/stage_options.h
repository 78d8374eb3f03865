#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/program_options.hpp>

#include <dragoman/core/json.h>
#include <dragoman/core/option_table.h>

namespace dragoman::cli {

/// The options of a pipeline stage as options of a command, from the stage's option table. Given values and defaults
/// become the settings of the stage.
class StageOptions {
 public:
  /// `hidden` are options that add_to() leaves out.
  explicit StageOptions(std::string_view stage, std::vector<std::string_view> hidden = {});
  /// Uses any table.
  explicit StageOptions(const std::vector<core::Option>& options) : options_(&options) {}

  /// Adds all other options under the titles of their groups.
  void add_to(boost::program_options::options_description& options);
  /// Adds one option under another name: `--input,i` for the option `path`.
  void add_as(const std::string& name, std::string_view option, boost::program_options::options_description& options);

  /// As add_as(), for an option that the command requires.
  void add_required(const std::string& name, std::string_view option,
                    boost::program_options::options_description& options);

  core::Json& settings() noexcept { return settings_; }
  const core::Json& settings() const noexcept { return settings_; }
  /// Returns the given values, without defaults.
  const core::Json& said() const noexcept { return said_; }

 private:
  void add(const std::string& name, const core::Option& option, boost::program_options::options_description& options,
           bool required = false);
  void set(const std::string& name, const core::Json& value) { settings_[name] = said_[name] = value; }

  const std::vector<core::Option>* options_;
  std::vector<std::string_view> hidden_;
  core::Json settings_ = core::Json::object();
  core::Json said_ = core::Json::object();
};

}  // namespace dragoman::cli
