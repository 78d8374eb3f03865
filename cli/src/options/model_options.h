#pragma once

#include <optional>
#include <string>

#include <boost/program_options.hpp>

#include <dragoman/core/log.h>
#include <dragoman/plugins/host.h>
#include <dragoman/tensor/compute_type.h>

namespace dragoman::cli {

/// How a command that reads a model computes with it: --threads, --device, --batch-invariant, --memory, --compute,
/// --allow-non-finite, --plugin.
class ModelOptions {
 public:
  void add_to(boost::program_options::options_description& options);

  const plugins::HostOptions& host() const noexcept { return host_; }
  int threads() const noexcept { return threads_; }
  /// Says which it is, if it was left to the program, and so what to compute in.
  tensor::Device device(plugins::Host& host, const core::LogSink& log) const;
  /// Nothing: what the model's folder says. UsageError for a type that is none.
  std::optional<tensor::ComputeChoice> compute() const;
  bool allow_non_finite() const noexcept { return allow_non_finite_; }

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
