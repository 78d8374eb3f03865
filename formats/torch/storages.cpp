#include "torch/storages.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <dragoman/tensor/dtype.h>

namespace dragoman::imports {
namespace {

template <class Stored>
float number_at(const std::byte* place) noexcept {
  Stored value{};
  std::memcpy(&value, place, sizeof value);
  return static_cast<float>(value);
}
float half_at(const std::byte* place) noexcept {
  std::uint16_t bits = 0;
  std::memcpy(&bits, place, sizeof bits);
  return tensor::f16_to_f32(bits);
}
float bfloat16_at(const std::byte* place) noexcept {
  std::uint16_t bits = 0;
  std::memcpy(&bits, place, sizeof bits);
  return tensor::bf16_to_f32(bits);
}

}  // namespace

const TorchStorage* find_torch_storage(std::string_view name) noexcept {
  static constexpr std::array<TorchStorage, 10> kStorages{{{"FloatStorage", 4, number_at<float>},
                                                           {"HalfStorage", 2, half_at},
                                                           {"BFloat16Storage", 2, bfloat16_at},
                                                           {"DoubleStorage", 8, number_at<double>},
                                                           {"LongStorage", 8, number_at<std::int64_t>},
                                                           {"IntStorage", 4, number_at<std::int32_t>},
                                                           {"ShortStorage", 2, number_at<std::int16_t>},
                                                           {"CharStorage", 1, number_at<std::int8_t>},
                                                           {"ByteStorage", 1, number_at<std::uint8_t>},
                                                           {"BoolStorage", 1, number_at<std::uint8_t>}}};
  const auto* const found = std::ranges::find(kStorages, name, &TorchStorage::name);
  return found == kStorages.end() ? nullptr : found;
}

}  // namespace dragoman::imports
