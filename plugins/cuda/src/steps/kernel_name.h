#pragma once

#include <string>
#include <string_view>

namespace dragoman::backend::cuda {

/// "MultiplyTiles<Tile<2, 64, 32>, float, NoScales>" of how a compiler spells the function that launches it,
/// "void ...::launch(...) [with Kernel = ...::MultiplyTiles<...>]": without namespaces.
std::string kernel_name(std::string_view function);

}  // namespace dragoman::backend::cuda
