#pragma once

#include <string>

#include <boost/program_options.hpp>

#include <dragoman/collective/launch.h>

namespace dragoman::cli {

/// --collective and --join-timeout, for what several processes may do together.
struct LaunchOptions {
  std::string collective = "auto";
  int join_timeout = 300;

  void add_to(boost::program_options::options_description& options);
};

/// What the environment says of the job that this process belongs to: the variables of torchrun (RANK, WORLD_SIZE,
/// LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT), of Open MPI's mpirun (OMPI_COMM_WORLD_*) and of Slurm's
/// srun (SLURM_*). `collective` is auto, none, tcp, mpi, nccl, or a plugin's. Error{kInvalidArgument} names a variable
/// that is missing or makes no sense.
collective::Launch launch_of_environment(const std::string& collective);
collective::Launch launch_of(const LaunchOptions& options);

}  // namespace dragoman::cli
