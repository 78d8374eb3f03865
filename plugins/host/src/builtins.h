#pragma once

#include <dragoman/plugins/registrar.h>

namespace dragoman::plugins {

/// What Dragoman itself brings, registered as a plugin would.
void register_builtins(Registrar& registrar);

}  // namespace dragoman::plugins
