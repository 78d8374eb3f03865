#pragma once

#include <string>

#include <dragoman/decoding/search.h>

namespace dragoman::python {

/// Reads the options of a search from JSON text; "" stands for none. Errors name the key.
decoding::Search read_search(const std::string& json);

}  // namespace dragoman::python
