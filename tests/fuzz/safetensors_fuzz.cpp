#include "safetensors_harness.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dragoman::fuzz::exercise_safetensors(std::as_bytes(std::span(data, size)));
  return 0;
}
