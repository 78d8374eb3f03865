#include <dragoman/plugins/plugin.h>

// Another plugin that calls itself "good".
namespace {
void register_nothing(dragoman::plugins::Registrar&) {}
}  // namespace

DRAGOMAN_PLUGIN("good", "MIT", register_nothing)
