#pragma once

#include <string>

namespace dragoman::plugins {

/// A plugin with a planted fault (planted/NAME.cpp), or the one that has none.
inline std::string planted_file(const std::string& name) {
  return std::string(DRAGOMAN_PLANTED_PLUGINS) + "/" + name + ".so";
}

}  // namespace dragoman::plugins
