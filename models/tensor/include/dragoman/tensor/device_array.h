#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

namespace dragoman::tensor {

/// Plain values that kernels read: they lie in a device's memory, which the host may not be able to touch. A view, like
/// Tensor; Context::upload() makes one of host values.
template <class T>
struct DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>);

  const T* data = nullptr;
  std::int64_t count = 0;

  bool empty() const noexcept { return count == 0; }
  std::int64_t size() const noexcept { return count; }
  /// For kernels.
  const T& operator[](std::int64_t i) const noexcept { return data[i]; }
  std::span<const T> span() const noexcept { return {data, static_cast<std::size_t>(count)}; }
  DeviceArray subarray(std::int64_t begin, std::int64_t end) const noexcept { return {data + begin, end - begin}; }
};

}  // namespace dragoman::tensor
