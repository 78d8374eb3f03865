#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace dragoman::python {

namespace nb = nanobind;

/// Returns a numpy array that owns the values; they are not copied. `shape` must have as many elements.
template <class Value>
nb::ndarray<nb::numpy, Value> to_array(std::vector<Value> values, std::initializer_list<std::size_t> shape) {
  auto owned = std::make_unique<std::vector<Value>>(std::move(values));
  Value* data = owned->data();
  const nb::capsule owner(owned.get(), [](void* memory) noexcept { delete static_cast<std::vector<Value>*>(memory); });
  owned.release();
  return {data, shape.size(), shape.begin(), owner};
}
template <class Value>
nb::ndarray<nb::numpy, Value> to_array(std::vector<Value> values) {
  const std::size_t size = values.size();
  return to_array(std::move(values), {size});
}

/// Token ids from Python: an array or any sequence of integers. They are copied, since other threads may write to an
/// array while the library reads.
class Ids {
 public:
  explicit Ids(nb::handle object);
  std::span<const std::int32_t> get() const { return ids_; }

 private:
  std::vector<std::int32_t> ids_;
};

}  // namespace dragoman::python
