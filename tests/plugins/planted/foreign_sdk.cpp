#include <cstdlib>

#include <dragoman/sdk/plugin.h>

// A plugin whose SDK was another one: its register function must never run, since nothing in it means what the host
// thinks.
namespace {
void must_not_run(dragoman::plugins::Registrar&) {
  std::abort();
}
}  // namespace

extern "C" __attribute__((visibility("default"))) const dragoman::plugins::PluginDescriptor* dragoman_plugin_query() {
  static const dragoman::plugins::PluginDescriptor descriptor{sizeof(dragoman::plugins::PluginDescriptor),
                                                              dragoman::plugins::kPluginMagic,
                                                              "SDK headers=0123456789abcdef; compiler=gcc 3",
                                                              "0.0.1",
                                                              "foreign",
                                                              "MIT",
                                                              must_not_run};
  return &descriptor;
}
