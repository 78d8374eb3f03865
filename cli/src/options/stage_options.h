#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/program_options.hpp>

#include <dragoman/core/json.h>
#include <dragoman/core/option_table.h>

namespace dragoman::cli {

/// Options of a pipeline stage as options of a command, from the stage's own table; what is given, and defaults,
/// become the stage's settings.
class StageOptions {
 public:
  /// `hidden` are options that add_to() leaves out.
  explicit StageOptions(std::string_view stage, std::vector<std::string_view> hidden = {});
  /// Of any table.
  explicit StageOptions(const std::vector<core::Option>& options) : options_(&options) {}

  /// Adds all others under their groups' titles.
  void add_to(boost::program_options::options_description& options);
  /// Adds one of them under another name: `--input,i` for the option `path`.
  void add_as(const std::string& name, std::string_view option, boost::program_options::options_description& options);

  /// Adds an option without which the command cannot run, in the same way.
  void add_required(const std::string& name, std::string_view option,
                    boost::program_options::options_description& options);

  core::Json& settings() noexcept { return settings_; }
  const core::Json& settings() const noexcept { return settings_; }
  /// What was given, without defaults.
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
