#pragma once

#include <dragoman/plugins/registrar.h>

namespace dragoman::plugins {

/// Registers Dragoman's built-in entries like those from a plugin.
void register_builtins(Registrar& registrar);

}  // namespace dragoman::plugins
