#include "byte_matmul.h"

#include <dragoman/tensor/int8.h>

#include "gemm.h"

namespace dragoman::backend::cpu {

const ByteMatmul* byte_matmul([[maybe_unused]] const ByteShape& shape) {
#ifdef __x86_64__
  if (shape.inputs == 0 || shape.inputs % kGroupInputs != 0 || shape.inputs > tensor::kMaxInt8Inputs) return nullptr;
  switch (byte_instructions()) {
    case ByteInstructions::kAvx2:
      return &paired_matmul();
    case ByteInstructions::kVnni:
      return &vnni_matmul();
    case ByteInstructions::kOther:
      return nullptr;
  }
#endif
  return nullptr;
}

}  // namespace dragoman::backend::cpu
