#include "fitting_note.h"

#include <cstdint>

// A plugin whose descriptor lacks fields: there is nothing behind the first eight bytes.
extern "C" __attribute__((visibility("default"))) const void* dragoman_plugin_query() {
  static const std::uint32_t descriptor[2] = {sizeof(descriptor), 0x4452474D};
  return descriptor;
}
