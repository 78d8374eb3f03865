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
  if (nb::ndarray_check(object) && nb::try_cast(object, array_, /*convert=*/false)) {
    ids_ = {array_.data(), array_.size()};
    return;
  }
  for (const nb::handle each : nb::iter(object)) copied_.push_back(to_id(each));
  ids_ = copied_;
}

}  // namespace dragoman::python
