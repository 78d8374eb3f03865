#pragma once

#include <string>

#include <boost/program_options.hpp>

#include <dragoman/collective/launch.h>
#include <dragoman/core/log.h>

namespace dragoman::cli {

/// Adds --collective, which sets `collective`.
void add_collective_option(boost::program_options::options_description& options, std::string& collective);

/// Returns the job of this process, from the environment variables of Open MPI's mpirun (OMPI_COMM_WORLD_*), MPICH's
/// mpiexec (PMI_*) and Slurm's srun (SLURM_*). `collective` is auto, none, mpi, nccl, or the name of a plugin's
/// collective. Error{kInvalidArgument} names an invalid variable, or a missing launcher. Logs a warning if another
/// launcher, whose processes are not connected, has started this process as one of several.
collective::Launch launch_of(const std::string& collective, const core::LogSink& log);

}  // namespace dragoman::cli
