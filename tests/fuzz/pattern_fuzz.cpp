#include "pattern_harness.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dragoman::fuzz::exercise_pattern({reinterpret_cast<const char*>(data), size});
  return 0;
}
