#pragma once

#include <string_view>

#include <dragoman/plugins/registrar.h>

namespace dragoman::ssru {

/// Registers the F32 kernels. They wait until a plugin registers a backend of this name.
void register_cuda_kernels(plugins::Registrar& registrar, std::string_view backend = "cuda");

}  // namespace dragoman::ssru
