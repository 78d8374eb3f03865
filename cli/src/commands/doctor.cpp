#include "options/host_options.h"
#include "program/command.h"
#include "version.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <unicode/uversion.h>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>
#include <dragoman/plugins/host.h>

namespace dragoman::cli {
namespace {

/// Prints the capabilities of this installation on this machine, in the words that a bug report needs.
class Doctor final : public Command {
 public:
  std::string_view name() const override { return "doctor"; }
  std::string_view summary() const override { return "show backends, CPU features and libraries, and what is missing"; }
  std::string_view examples() const override {
    return "dragoman doctor\n"
           "dragoman doctor --plugin ./myplugin.so\n";
  }
  void add_options(boost::program_options::options_description& options) override {
    add_host_options(options, host_options_);
  }
  void run(const Session&) override {
    plugins::Host host(host_options_);
    const bool has_cuda = host.runtime().find(kCuda) != nullptr || host.loader().is_installed(kCuda);
    std::optional<core::Error> trouble = has_cuda ? take_cuda(host) : std::nullopt;
    fmt::print("dragoman   {}\n", kVersion);
    fmt::print("compiler   {}\n", __VERSION__);
    fmt::print("threads    {} (affinity and cgroup quota)\n", core::default_threads());
    for (const auto& backend : host.runtime().backends()) {
      const std::vector<std::string> missing = backend->missing();
      const std::string what = backend->describe();
      // A missing part is reported once, in a separate line.
      const bool is_told = std::ranges::find(missing, what) != missing.end();
      fmt::print("{:<10} {}{}; --compute {}\n", backend->name(), state_of(*backend), is_told ? "" : ": " + what,
                 number_types(*backend));
      for (const std::string& line : backend->details()) fmt::print("{:<10} {}\n", "", line);
      for (const std::string& line : missing) fmt::print("{:<10} missing: {}\n", "", line);
    }
    for (const auto& links : host.registry().device_links().all()) print_links(host, links->entry);
    if (!has_cuda) fmt::print("{:<10} missing: {}\n", kCuda, plugins::kHowToGetCuda);
    print_mpi(host);
    fmt::print("ICU        {}\n", U_ICU_VERSION);
    if (trouble) throw *trouble;
  }

 private:
  static constexpr const char* kCuda = "cuda";

  /// Loads the backend for GPUs, which belongs to the capabilities even if no option names it. Returns the error if
  /// that fails.
  static std::optional<core::Error> take_cuda(plugins::Host& host) {
    if (host.runtime().find(kCuda) != nullptr) return std::nullopt;
    try {
      host.loader().load(kCuda);
      return std::nullopt;
    } catch (const core::Error& error) {
      return error;
    }
  }

  /// Without a device, links are not searched: the result would not apply to this machine.
  static void print_links(const plugins::Host& host, const plugins::DeviceLinksEntry& links) {
    const tensor::Backend* const backend = host.runtime().find(links.backend);
    if (backend == nullptr || backend->device_count() == 0) {
      fmt::print("{:<10} not looked for: there is no device of {}\n", links.name, links.backend);
      return;
    }
    const collective::LinkOffer offer = links.offer(0);
    fmt::print("{:<10} {}{}\n", links.name,
               offer.trouble.empty() ? "ok: " : "missing: ", offer.trouble.empty() ? offer.version : offer.trouble);
  }

  /// Only training with several processes needs MPI, so a missing library is no failure.
  static void print_mpi(plugins::Host& host) {
    std::string trouble(plugins::kHowToGetMpi);
    try {
      const bool has_mpi = host.registry().collectives().find(collective::kMpi) != nullptr;
      if (!has_mpi && host.loader().is_installed(collective::kMpi)) host.loader().load(collective::kMpi);
    } catch (const core::Error& error) {
      trouble = error.what();
    }
    const auto* const found = host.registry().collectives().find(collective::kMpi);
    fmt::print("{:<10} {}{}\n", collective::kMpi,
               found != nullptr ? "ok: " : "missing: ", found != nullptr ? found->entry.summary : trouble);
  }

  static std::string state_of(const tensor::Backend& backend) {
    const int devices = backend.device_count();
    if (devices == 0) return "no such device on this machine";
    return devices == 1 ? "ok" : fmt::format("{} devices", devices);
  }

  /// Returns "fp32, bf16, int8, auto (int8)".
  static std::string number_types(const tensor::Backend& backend) {
    std::string types;
    for (const auto& [name, choice] : tensor::kComputeChoices) {
      if (choice == tensor::ComputeChoice::kAuto) continue;
      try {
        types += fmt::format("{}{}", types.empty() ? "" : ", ", name_of(backend.inference_type(choice)));
      } catch (const core::Error& error) {
        if (error.code() != core::ErrorCode::kUnsupported) throw;
      }
    }
    return fmt::format("{}, auto ({})", types, name_of(backend.inference_type(tensor::ComputeChoice::kAuto)));
  }

  plugins::HostOptions host_options_;
};

}  // namespace

std::unique_ptr<Command> make_doctor() {
  return std::make_unique<Doctor>();
}

}  // namespace dragoman::cli
