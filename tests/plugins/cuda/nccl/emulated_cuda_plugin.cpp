#include "emulated_nccl.h"

#include <array>
#include <cstdlib>

#include <dragoman/plugins/plugin.h>

// The plugin `cuda` for a machine without a GPU: two emulated devices, linked by the library that DRAGOMAN_TEST_NCCL
// names.
namespace {

using namespace dragoman;

const char* nccl_file() {
  const char* const file = std::getenv("DRAGOMAN_TEST_NCCL");
  return file == nullptr ? "" : file;
}
const backend::cuda::NcclLoad& nccl_load() {
  static const backend::cuda::NcclLoad load = backend::cuda::open_nccl(std::array{nccl_file()});
  return load;
}

void register_emulated_cuda(plugins::Registrar& registrar) {
  const auto backend = std::make_shared<testing::EmulatedCuda>("cuda", testing::HiddenBackend::Steps::kRun, 2);
  registrar.add(backend);
  registrar.add(plugins::DeviceLinksEntry{
      .name = collective::kNccl,
      .summary = "the tests' library between emulated devices",
      .backend = "cuda",
      .offer =
          [](int device) {
            return backend::cuda::nccl_offer(nccl_load(), "emulated device " + std::to_string(device));
          },
      .make =
          [backend](const collective::LinkRequest& request) {
            return testing::make_emulated_links(nccl_load(), nccl_file(), *backend, request);
          }});
}

}  // namespace

DRAGOMAN_PLUGIN("cuda", "Apache-2.0", register_emulated_cuda)
