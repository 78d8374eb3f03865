#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

namespace dragoman::tensor {

/// A non-owning view of plain values that kernels read. They are in device memory, which the host may be unable to
/// access. Context::upload() creates one from host values.
///
///     DeviceArray<double> weights_of_step(Context& context) {     // context.h
///       return context.upload_copy(std::span<const double>(std::array{0.5, 0.25}));
///     }
///
/// An array of Context::upload() is valid until the step ends.
template <class T>
struct DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>);

  const T* data = nullptr;
  std::int64_t count = 0;

  bool empty() const noexcept { return count == 0; }
  std::int64_t size() const noexcept { return count; }
  /// For kernels only.
  const T& operator[](std::int64_t i) const noexcept { return data[i]; }
  std::span<const T> span() const noexcept { return {data, static_cast<std::size_t>(count)}; }
  DeviceArray subarray(std::int64_t begin, std::int64_t end) const noexcept { return {data + begin, end - begin}; }
};

}  // namespace dragoman::tensor
