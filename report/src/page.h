#pragma once

#include <string_view>

namespace dragoman::report {

// The parts of the page that do not depend on the runs.

extern const std::string_view kStyle;
extern const std::string_view kScript;

}  // namespace dragoman::report
