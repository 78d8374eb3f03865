#pragma once

#include "test_data.h"

#include <string>

namespace dragoman::plugins {

/// A plugin with a planted fault (planted/NAME.cpp), or the one that has none.
inline std::string planted_file(const std::string& name) {
  return testing::built("planted_plugins") + "/" + name + ".so";
}

}  // namespace dragoman::plugins
