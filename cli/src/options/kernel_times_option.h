#pragma once

#include <boost/program_options.hpp>

#include <dragoman/core/log.h>
#include <dragoman/plugins/host.h>

namespace dragoman::cli {

/// --kernel-times, for commands that translate or train.
class KernelTimesOption {
 public:
  void add_to(boost::program_options::options_description& options);
  bool wanted() const noexcept { return wanted_; }
  /// Logs one line per kind of kernel that has run on the device since it was configured, by descending time.
  static void log_times(const core::LogSink& log, const plugins::Host& host, tensor::Device device);

 private:
  bool wanted_ = false;
};

}  // namespace dragoman::cli
