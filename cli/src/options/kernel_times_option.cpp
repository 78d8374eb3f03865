#include "options/kernel_times_option.h"

#include <fmt/format.h>

namespace dragoman::cli {

namespace po = boost::program_options;

void KernelTimesOption::add_to(po::options_description& options) {
  options.add_options()("kernel-times", po::bool_switch(&wanted_),
                        "log the time of each kind of kernel at the end; slows the computation");
}

void KernelTimesOption::log_times(const core::LogSink& log, const plugins::Host& host, tensor::Device device) {
  const std::vector<tensor::KernelTime> kernels = host.runtime().backend(device).kernel_times();
  double all = 0;
  for (const tensor::KernelTime& kernel : kernels) all += kernel.seconds;
  // Where work is counted: thousand millions of products and of bytes in a second.
  const auto speed = [](double work, double seconds, std::string_view unit) {
    return work > 0 && seconds > 0 ? fmt::format("{:.1f} {}", work * 1e-9 / seconds, unit) : std::string();
  };
  for (const tensor::KernelTime& kernel : kernels)
    core::log(log, core::LogLevel::kInfo,
              fmt::format("kernel {:5.1f} % {:10.3f} ms {:8} launches {:>10} {:>11}  {}", 100 * kernel.seconds / all,
                          1000 * kernel.seconds, kernel.launches, speed(kernel.products, kernel.seconds, "G/s"),
                          speed(kernel.bytes, kernel.seconds, "GB/s"), kernel.kernel));
}

}  // namespace dragoman::cli
