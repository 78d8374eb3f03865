#include "trace.h"

// A library that has nothing to do with Dragoman, or a plugin from before there were notes.
extern "C" __attribute__((visibility("default"))) const void* dragoman_plugin_query() {
  return nullptr;
}
