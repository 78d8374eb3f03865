#pragma once

#include <string>

#include <boost/program_options.hpp>

namespace dragoman::cli {

/// Widths of a help table.
inline constexpr unsigned kLineLength = 110;
inline constexpr unsigned kDescriptionLength = 60;

/// Options that `--help` lists under a separate title: add them, then add the group to the command's options.
inline boost::program_options::options_description option_group(const std::string& title) {
  return {title, kLineLength, kDescriptionLength};
}

}  // namespace dragoman::cli
