#include "trace.h"

#include <dragoman/plugins/descriptor.h>
#include <dragoman/plugins/note.h>

// A plugin whose SDK was another one: nothing of it may run, since nothing in it means what the host thinks.
namespace {

constexpr const char* kFingerprint = "SDK headers=0123456789abcdef; compiler=gcc 3";

void must_not_run(dragoman::plugins::Registrar&) {
  std::abort();
}

}  // namespace

[[gnu::used, gnu::section(".note.dragoman")]] static constexpr auto note =
    dragoman::plugins::make_note<dragoman::plugins::description_bytes({kFingerprint, "0.0.1", "foreign", "MIT"})>(
        {kFingerprint, "0.0.1", "foreign", "MIT"});

extern "C" __attribute__((visibility("default"))) const dragoman::plugins::PluginDescriptor* dragoman_plugin_query() {
  static const dragoman::plugins::PluginDescriptor descriptor{sizeof(dragoman::plugins::PluginDescriptor),
                                                              dragoman::plugins::kPluginMagic,
                                                              kFingerprint,
                                                              "0.0.1",
                                                              "foreign",
                                                              "MIT",
                                                              must_not_run};
  return &descriptor;
}
