#include "trace.h"

#include <dragoman/plugins/plugin.h>

// A plugin without a fault whose loading can be seen. Its licence talks to the terminal.
namespace {
void register_nothing(dragoman::plugins::Registrar&) {}
}  // namespace

DRAGOMAN_PLUGIN("tracing", "\x1b[2J\x1b]0;owned\x07MIT", register_nothing)
