#include "command.h"
#include "version.h"

#include <fmt/format.h>
#include <unicode/uversion.h>

#include <dragoman/backend_cpu/install.h>
#include <dragoman/core/parallel.h>
#include <dragoman/runtime/runtime.h>

namespace dragoman::cli {
namespace {

/// What this installation can do on this machine, in the words that a bug report needs.
class Doctor final : public Command {
 public:
  std::string_view name() const override { return "doctor"; }
  std::string_view summary() const override { return "show backends, CPU features and libraries, and what is missing"; }
  void add_options(boost::program_options::options_description&) override {}
  void run(const Session&) override {
    const runtime::Runtime runtime;
    fmt::print("dragoman   {}\n", kVersion);
    fmt::print("compiler   {}\n", __VERSION__);
    fmt::print("threads    {} (affinity and cgroup quota)\n", core::default_threads());
    fmt::print("cpu        ok, SIMD level {}\n", backend::cpu::simd_level());
    fmt::print("reference  ok, double precision, for tests\n");
    fmt::print("cuda       {}\n", runtime.available(tensor::Device::kCuda) ? "ok" : "not in this build");
    fmt::print("ICU        {}\n", U_ICU_VERSION);
  }
};

}  // namespace

std::unique_ptr<Command> make_doctor() {
  return std::make_unique<Doctor>();
}

}  // namespace dragoman::cli
