#include "options/launch_options.h"

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

constexpr std::string_view kAuto = "auto";

std::string text_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string() : value;
}

std::optional<int> number_of(const char* variable) {
  const std::string text = text_of(variable);
  if (text.empty()) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  core::require(error == std::errc{} && end == text.data() + text.size() && value >= 0, ErrorCode::kInvalidArgument,
                "the environment variable {} is {}; it must be a whole number from 0", variable, core::Quoted{text});
  return value;
}

int need(const char* variable, std::string_view because) {
  const std::optional<int> value = number_of(variable);
  core::require(value.has_value(), ErrorCode::kInvalidArgument, "the environment variable {} is missing; {}", variable,
                because);
  return *value;
}

/// The names under which a launcher tells a process who it is.
struct Launcher {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  const char* job;
};
constexpr Launcher kTorchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"};
constexpr Launcher kMpirun{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                           "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE"};
/// The variables of a step: those of a job stand in the script of a batch, too, which is one process.
constexpr Launcher kSrun{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_TASKS_ON_THIS_NODE",
                         "SLURM_JOB_ID"};

bool has_launched(const Launcher& launcher) {
  return !text_of(launcher.size).empty() && !text_of(launcher.rank).empty();
}

void take(const Launcher& launcher, Launch& launch) {
  launch.size = need(launcher.size, "it says how many processes there are");
  launch.rank = need(launcher.rank, "it says which process this is");
  launch.local_rank = number_of(launcher.local_rank).value_or(0);
  launch.local_size = std::max(number_of(launcher.local_size).value_or(1), launch.local_rank + 1);
  launch.job = text_of(launcher.job);
}

/// "node[03-07,09],other" begins with node03.
std::string first_host(const std::string& list) {
  const std::size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of("-,]", bracket);
  return end == std::string::npos ? std::string()
                                  : list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

void find_master(Launch& launch, bool by_srun) {
  launch.master_address = text_of("MASTER_ADDR");
  if (launch.master_address.empty() && by_srun) launch.master_address = first_host(text_of("SLURM_STEP_NODELIST"));
  core::require(
      !launch.master_address.empty(), ErrorCode::kInvalidArgument,
      "the environment variable MASTER_ADDR is missing; it says on which machine rank 0 is. If this process is "
      "one by itself, whatever RANK and WORLD_SIZE say: train --collective none, translate --shard 1/1");
  std::optional<int> port = number_of("MASTER_PORT");
  // Jobs of a cluster have numbers in a row, so jobs beside one another have other ports.
  if (!port && by_srun) port = 20000 + number_of("SLURM_JOB_ID").value_or(0) % 10000;
  core::require(port && *port >= 1 && *port <= 65535, ErrorCode::kInvalidArgument,
                "the environment variable MASTER_PORT must be the port at which rank 0 listens, 1 to 65535");
  // Then torchrun itself listens at that port.
  if (text_of("TORCHELASTIC_USE_AGENT_STORE") == "True") port = *port < 65535 ? *port + 1 : *port - 1;
  launch.master_port = static_cast<std::uint16_t>(*port);
}

Launch by_tcp() {
  Launch launch{.transport = collective::kTcp};
  const bool torchrun = has_launched(kTorchrun), mpirun = has_launched(kMpirun);
  const bool srun = !torchrun && !mpirun && has_launched(kSrun);
  core::require(torchrun || mpirun || srun, ErrorCode::kInvalidArgument,
                "--collective tcp needs the environment variables RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as "
                "torchrun sets them, or those of mpirun or srun");
  take(torchrun ? kTorchrun : mpirun ? kMpirun : kSrun, launch);
  if (launch.size > 1)
    find_master(launch, srun);
  else
    launch.transport = collective::kNoTransport;
  return launch;
}

/// What a launcher that speaks MPI says; MPI itself knows rank and size.
Launch by_plugin(const std::string& name) {
  Launch launch{.transport = name};
  if (has_launched(kMpirun))
    take(kMpirun, launch);
  else if (has_launched(kSrun))
    take(kSrun, launch);
  else if (has_launched(kTorchrun))
    take(kTorchrun, launch);
  return launch;
}

Launch chosen() {
  // MASTER_ADDR beside what mpirun sets is for programs that have no MPI.
  if (has_launched(kTorchrun) && !text_of("MASTER_ADDR").empty()) return by_tcp();
  if (number_of(kMpirun.size).value_or(1) > 1) return by_plugin(collective::kMpi);
  const bool srun = has_launched(kSrun) && number_of(kSrun.size).value_or(1) > 1;
  if (srun && !text_of("PMIX_RANK").empty()) return by_plugin(collective::kMpi);
  if (srun) return by_tcp();
  // One variable was forgotten: as many whole runs as there are processes would be no error that anybody sees.
  const bool alone = has_launched(kMpirun) || has_launched(kSrun) || !has_launched(kTorchrun);
  return alone || number_of(kTorchrun.size).value_or(1) == 1 ? Launch{} : by_tcp();
}

}  // namespace

void LaunchOptions::add_to(po::options_description& options) {
  options.add_options()("collective", po::value(&collective)->value_name("NAME")->default_value("auto"),
                        "how processes that work together find each other: auto (as the variables of mpirun, srun or "
                        "torchrun say, and where all are GPUs gradients go by NCCL), none, tcp, mpi, nccl (as auto, "
                        "but without NCCL it is an error)");
  options.add_options()("join-timeout", po::value(&join_timeout)->value_name("SECONDS")->default_value(300),
                        "how long to wait for the other processes to come");
}

Launch launch_of_environment(const std::string& collective) {
  if (collective == collective::kNoTransport) return {};
  if (collective == collective::kTcp) return by_tcp();
  if (collective != kAuto && collective != collective::kNccl) return by_plugin(collective);
  // Who asks for NCCL by name has forgotten the launcher.
  core::require(
      collective == kAuto || has_launched(kTorchrun) || has_launched(kMpirun) || has_launched(kSrun),
      ErrorCode::kInvalidArgument,
      "--collective nccl needs several processes, but no variables of a launcher are set (torchrun's RANK and "
      "WORLD_SIZE, or those of mpirun or srun)");
  Launch launch = chosen();
  launch.device_links = collective == kAuto ? collective::kAutoLinks : collective::kNccl;
  return launch;
}

Launch launch_of(const LaunchOptions& options) {
  core::require(options.join_timeout >= 1, ErrorCode::kInvalidArgument, "--join-timeout must be at least 1 second");
  Launch launch = launch_of_environment(options.collective);
  launch.join_timeout = std::chrono::seconds(options.join_timeout);
  return launch;
}

}  // namespace dragoman::cli
