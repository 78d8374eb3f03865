#include "dragoman/formats/finite_weights.h"

#include <array>
#include <cmath>
#include <cstring>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::formats {
namespace {

using tensor::DType;

constexpr std::size_t kBlock = 4096;

/// Returns the index of the first element of `bytes` that is infinite or NaN: all bits of its exponent are set. Returns
/// the number of elements if there is none. The bytes need not be aligned.
template <class Bits>
std::size_t first_not_finite(std::span<const std::byte> bytes, Bits exponent) {
  core::StopCheck check("checking weights");
  std::array<Bits, kBlock> block;
  const std::size_t count = bytes.size() / sizeof(Bits);
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t length = std::min(kBlock, count - begin);
    check(length);
    std::memcpy(block.data(), bytes.data() + begin * sizeof(Bits), length * sizeof(Bits));
    unsigned any = 0;
    for (std::size_t i = 0; i < length; ++i) any |= static_cast<unsigned>((block[i] & exponent) == exponent);
    if (any == 0) continue;
    for (std::size_t i = 0; i < length; ++i)
      if ((block[i] & exponent) == exponent) return begin + i;
  }
  return count;
}

std::size_t first_not_finite(DType dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case DType::kF32:
      return first_not_finite<std::uint32_t>(bytes, 0x7F800000);
    case DType::kF64:
      return first_not_finite<std::uint64_t>(bytes, 0x7FF0000000000000);
    case DType::kF16:
      return first_not_finite<std::uint16_t>(bytes, 0x7C00);
    case DType::kBF16:
      return first_not_finite<std::uint16_t>(bytes, 0x7F80);
    default:
      return bytes.size() / tensor::size_of(dtype);  // integers
  }
}

}  // namespace

void require_finite_weights(const SafetensorsFile& file, const std::string& where) {
  for (const StoredTensor& stored : file.tensors()) {
    if (!stored.dtype) continue;
    const auto place = static_cast<std::int64_t>(first_not_finite(*stored.dtype, file.read(stored)));
    if (place == stored.size) continue;
    double value = 0;
    file.read(stored, place, {&value, 1, 1, 1, DType::kF64, tensor::Device::kCpu});
    core::fail(core::ErrorCode::kBadInput,
               "{}: the value {} of the tensor {} is {}; the file is damaged, or training diverged", where, place,
               core::quote(stored.name), value);
  }
}

void require_finite_weights(const std::filesystem::path& file) {
  require_finite_weights(SafetensorsFile::open(file), file.string());
}

}  // namespace dragoman::formats
