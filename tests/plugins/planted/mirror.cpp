#include "twice.h"

#include <dragoman/backend_cpu/install.h>
#include <dragoman/sdk/plugin.h>

namespace {

using namespace dragoman;

/// Two devices beside the CPU that compute as it does.
class Mirror final : public tensor::Backend {
 public:
  Mirror() : Backend("mirror") { backend::cpu::install_kernels(kernels()); }
  int device_count() const override { return 2; }
  tensor::DeviceMemory& memory(int /*number*/) const override { return tensor::host_memory(); }
  tensor::DType float_type() const override { return tensor::DType::kF32; }
  std::string describe() const override { return "the CPU in a mirror"; }
};

void register_mirror(plugins::Registrar& registrar) {
  registrar.add(std::make_shared<Mirror>());
}

}  // namespace

DRAGOMAN_PLUGIN("mirror", "Apache-2.0", register_mirror)
