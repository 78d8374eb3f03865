#pragma once

#include <string_view>

#include <dragoman/plugins/registrar.h>

namespace dragoman::ssru {

/// F32. The kernels wait until a plugin brings a backend of this name.
void register_cuda_kernels(plugins::Registrar& registrar, std::string_view backend = "cuda");

}  // namespace dragoman::ssru
