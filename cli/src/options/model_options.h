#pragma once

#include <optional>
#include <string>

#include <boost/program_options.hpp>

#include <dragoman/core/log.h>
#include <dragoman/pipeline/model.h>
#include <dragoman/plugins/host.h>
#include <dragoman/tensor/compute_type.h>

namespace dragoman::cli {

/// How a command computes with a model: --threads, --device, --batch-invariant, --memory, --compute,
/// --allow-non-finite, --plugin.
class ModelOptions {
 public:
  void add_to(boost::program_options::options_description& options);

  const plugins::HostOptions& host() const noexcept { return host_; }
  /// Returns the options for a model. Logs the device and the number type if the program chose them.
  pipeline::ModelOptions read(plugins::Host& host, const core::LogSink& log) const;
  tensor::Device device(plugins::Host& host, const core::LogSink& log) const;
  /// Returns the device and the number type as text. They affect results, so they belong to the identity of a job's
  /// lines.
  std::string identity() const { return device_ + " " + compute_; }
  /// Returns nullopt for the type that the model's folder specifies. UsageError for an unknown type.
  std::optional<tensor::ComputeChoice> compute() const;

 private:
  int threads_ = 0;
  std::string device_;
  bool batch_invariant_ = false;
  std::string memory_;
  std::string compute_;
  bool allow_non_finite_ = false;
  plugins::HostOptions host_;
};

}  // namespace dragoman::cli
