#include "arrays.h"

#include <limits>
#include <string>

#include <nanobind/stl/string.h>

namespace dragoman::python {
namespace {

std::int32_t to_id(nb::handle object) {
  const nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  const long long value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max()) {
    throw nb::value_error(("there is no token " + std::to_string(value)).c_str());
  }
  return static_cast<std::int32_t>(value);
}

}  // namespace

Ids::Ids(nb::handle object) {
  nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;
  if (nb::ndarray_check(object) && nb::try_cast(object, array, /*convert=*/false)) {
    ids_.assign(array.data(), array.data() + array.size());
    return;
  }
  for (const nb::handle each : nb::iter(object)) ids_.push_back(to_id(each));
}

}  // namespace dragoman::python
