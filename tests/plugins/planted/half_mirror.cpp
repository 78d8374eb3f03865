#include <dragoman/backend_cpu/install.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/plugins/plugin.h>

namespace {

using namespace dragoman;

class HalfMirror final : public tensor::Backend {
 public:
  HalfMirror() : Backend("half") { backend::cpu::install_kernels(own_kernels()); }
  int device_count() const override { return 1; }
  tensor::DeviceMemory& memory(int /*number*/) const override { return tensor::host_memory(); }
  tensor::DType float_type() const override { return tensor::DType::kF32; }
  std::string describe() const override { return "cracked"; }
};

/// Brings a backend and then a kernel that is there already.
void register_half_mirror(plugins::Registrar& registrar) {
  registrar.add(std::make_shared<HalfMirror>());
  registrar.add_kernel("half", ops::kAdd, [](tensor::Context&, const ops::AddArguments&) {});
}

}  // namespace

DRAGOMAN_PLUGIN("half_mirror", "Apache-2.0", register_half_mirror)
