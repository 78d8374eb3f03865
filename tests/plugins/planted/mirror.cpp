#include "hidden_backend.h"
#include "twice.h"

#include <dragoman/backend_cpu/install.h>
#include <dragoman/plugins/plugin.h>

namespace {

using namespace dragoman;

/// Two devices that compute as the CPU does, in memory that the host cannot read.
class Mirror final : public testing::HiddenBackend {
 public:
  Mirror() : HiddenBackend(cpu_kernels(), "mirror") {}
  int device_count() const override { return 2; }
  std::string describe() const override { return "the CPU in a mirror"; }

 private:
  static const tensor::KernelTable& cpu_kernels() {
    static const tensor::KernelTable table = [] {
      tensor::KernelTable cpu(tensor::Device::kCpu);
      backend::cpu::install_kernels(cpu);
      return cpu;
    }();
    return table;
  }
};

void register_mirror(plugins::Registrar& registrar) {
  registrar.add(std::make_shared<Mirror>());
}

}  // namespace

DRAGOMAN_PLUGIN("mirror", "Apache-2.0", register_mirror)
