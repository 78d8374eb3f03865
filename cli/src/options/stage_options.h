#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
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
  /// Uses any table. `flags` are the names of options on the command line that are not their keys with hyphens.
  explicit StageOptions(const std::vector<core::Option>& options, std::vector<std::string_view> hidden = {},
                        std::map<std::string, std::string, std::less<>> flags = {})
      : options_(&options), hidden_(std::move(hidden)), flags_(std::move(flags)) {}

  /// Adds all other options under the titles of their groups. A switch that is on by default is added as --no-NAME.
  void add_to(boost::program_options::options_description& options);
  /// Adds the options of one group to `options` itself.
  void add_group_to(std::string_view title, boost::program_options::options_description& options);
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
  std::string flag_of(const core::Option& option) const;
  void set(const std::string& name, const core::Json& value) { settings_[name] = said_[name] = value; }

  const std::vector<core::Option>* options_;
  std::vector<std::string_view> hidden_;
  std::map<std::string, std::string, std::less<>> flags_;
  core::Json settings_ = core::Json::object();
  core::Json said_ = core::Json::object();
};

}  // namespace dragoman::cli
