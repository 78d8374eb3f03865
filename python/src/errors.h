#pragma once

#include <exception>

#include <nanobind/nanobind.h>

namespace dragoman::python {

/// Translates Error to the exceptions of dragoman.errors, from now on.
void register_errors();

/// Returns the Python exception of a C++ exception, for callbacks. Under the GIL.
nanobind::object exception_object(const std::exception_ptr& error);

}  // namespace dragoman::python
