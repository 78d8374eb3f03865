#include <cstdlib>

#include <dragoman/plugins/plugin.h>

// A plugin that was compiled with one member more in tensor::Tensor: nothing of it may run.
namespace {

static_assert(sizeof(&dragoman::tensor::Tensor::planted_member) > 0);

void must_not_run(dragoman::plugins::Registrar&) {
  std::abort();
}

}  // namespace

DRAGOMAN_PLUGIN("other-layout", "MIT", must_not_run)
