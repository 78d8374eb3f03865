#pragma once

#include "options/stage_options.h"

#include <optional>
#include <string>

#include <boost/program_options.hpp>

#include <dragoman/core/json.h>
#include <dragoman/core/log.h>
#include <dragoman/pipeline/model.h>
#include <dragoman/plugins/host.h>
#include <dragoman/tensor/compute_type.h>

namespace dragoman::cli {

/// How a command computes with a model: --threads, --device, --batch-invariant, --memory, --compute,
/// --allow-non-finite, --plugin.
class ModelOptions {
 public:
  /// `translates`: --compute is `auto` by default, and otherwise `stored`.
  explicit ModelOptions(bool translates = false);
  void add_to(boost::program_options::options_description& options);
  /// Moves these options out of a configuration. The command line takes precedence. `where` names the configuration in
  /// errors.
  void take_from(core::Json& tree, const std::string& where);

  const plugins::HostOptions& host() const noexcept { return host_; }
  /// Returns the options for a model. Logs the device and the number type if the program chose them.
  pipeline::ModelOptions read(plugins::Host& host, const core::LogSink& log) const;
  tensor::Device device(plugins::Host& host, const core::LogSink& log) const;
  /// Returns the device and the number type as text. They affect results, so they belong to the identity of a job's
  /// lines.
  std::string identity() const;
  /// Returns nullopt for the type that the model's folder specifies. UsageError for an unknown type.
  std::optional<tensor::ComputeChoice> compute() const;

 private:
  struct Settings;
  static core::OptionTable<Settings> make_table(std::string_view compute);
  const core::OptionTable<Settings>& table() const;
  /// Returns the values of the command line, completed by those of the configuration and the defaults.
  Settings settings() const;

  bool translates_;
  StageOptions options_;
  core::Json configured_ = core::Json::object();
  std::string where_ = "model options";
  plugins::HostOptions host_;
};

}  // namespace dragoman::cli
