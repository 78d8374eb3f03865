#pragma once

#include "target.h"

#include <vector>

namespace dragoman::fuzz {

std::vector<Target> all_targets();

}  // namespace dragoman::fuzz
