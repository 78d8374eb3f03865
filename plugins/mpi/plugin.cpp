#include "mpi_collective.h"

#include <dragoman/plugins/plugin.h>

namespace {

using namespace dragoman;

std::unique_ptr<collective::Collective> join(const collective::Launch& launch) {
  return std::make_unique<collective::mpi::MpiCollective>(launch.size);
}

void register_mpi(plugins::Registrar& registrar) {
  registrar.add(plugins::CollectiveEntry{
      .name = collective::kMpi,
      .summary = collective::mpi::describe_mpi() + ", between processes that mpirun or srun has started",
      .make = join});
}

}  // namespace

DRAGOMAN_PLUGIN("mpi", "Apache-2.0", register_mpi)
