#include "options/launch_options.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using collective::Launch;
using core::ErrorCode;

constexpr const char* kAuto = "auto";

std::optional<int> number_of(const char* variable) {
  const char* const found = std::getenv(variable);
  const std::string_view text = found == nullptr ? "" : found;
  if (text.empty()) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  core::require(error == std::errc{} && end == text.data() + text.size() && value >= 0, ErrorCode::kInvalidArgument,
                "the environment variable {} is {}; it must be a whole number from 0", variable, core::Quoted{text});
  return value;
}

/// The variables by which an MPI launcher passes each process its rank and the number of processes.
struct Launcher {
  const char* rank;
  const char* size;
};

/// In order of precedence, because mpirun and mpiexec may start their processes with srun. For Slurm, these are the
/// variables of a step: those of a job are also set in a batch script, which is one process.
constexpr std::array kLaunchers{Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                Launcher{"PMI_RANK", "PMI_SIZE"}, Launcher{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

std::optional<Launch> launched() {
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<int> rank = number_of(launcher.rank), size = number_of(launcher.size);
    if (!rank || !size) continue;
    core::require(*rank < *size, ErrorCode::kInvalidArgument,
                  "the environment variable {} is {}, but {} is {}; ranks are counted from 0", launcher.rank, *rank,
                  launcher.size, *size);
    return Launch{.rank = *rank, .size = *size};
  }
  return std::nullopt;
}

/// Launchers of other frameworks, such as torchrun, start processes that MPI does not connect. Each would be a separate
/// job.
void warn_of_processes_that_are_not_joined(const core::LogSink& log) {
  const char* const rank = std::getenv("RANK");
  const char* const size = std::getenv("WORLD_SIZE");
  if (rank == nullptr || size == nullptr || std::atoi(size) <= 1) return;
  core::log(log, core::LogLevel::kWarning,
            fmt::format("the environment variables RANK ({}) and WORLD_SIZE ({}) are those of a launcher such as "
                        "torchrun, whose processes are not joined here: this one is alone; start a job by mpirun or "
                        "srun",
                        core::Quoted{rank}, core::Quoted{size}));
}

}  // namespace

void add_collective_option(po::options_description& options, std::string& collective) {
  options.add_options()("collective", po::value(&collective)->value_name("NAME")->default_value(kAuto),
                        "how the processes of a job exchange data: auto (MPI if mpirun or srun has started several "
                        "processes; NCCL for gradients between GPUs if all processes support it), mpi (also for "
                        "gradients), nccl (as auto, but a missing NCCL is an error), none (a single process)");
}

Launch launch_of(const std::string& collective, const core::LogSink& log) {
  core::require(collective != "tcp", ErrorCode::kInvalidArgument,
                "--collective tcp: there is no transport by TCP any more; start the processes with an MPI, as in "
                "\"mpirun -np 2 dragoman train ...\", and leave --collective out");
  if (collective == collective::kNone) return {};
  const std::optional<Launch> found = launched();
  Launch launch = found.value_or(Launch{});
  if (collective != kAuto && collective != collective::kNccl) {
    launch.transport = collective;
    return launch;
  }
  core::require(collective == kAuto || found, ErrorCode::kInvalidArgument,
                "--collective nccl needs several processes, but this one was not started by mpirun or srun");
  if (!found) warn_of_processes_that_are_not_joined(log);
  if (launch.size > 1) launch.transport = collective::kMpi;
  launch.device_links = collective == kAuto ? collective::kAutoLinks : collective::kNccl;
  return launch;
}

}  // namespace dragoman::cli
