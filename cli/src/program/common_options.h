#pragma once

#include "options/option_group.h"

#include <string>

namespace dragoman::cli {

/// The options of all commands.
struct CommonOptions {
  bool help = false;
  bool quiet = false;
  std::string progress = "auto";

  void add_to(boost::program_options::options_description& options) {
    namespace po = boost::program_options;
    po::options_description general = option_group("General");
    general.add_options()("help,h", po::bool_switch(&help), "print this help and exit")(
        "quiet,q", po::bool_switch(&quiet), "print no progress and no notes, only warnings and errors")(
        "progress", po::value(&progress)->value_name("WHEN"),
        "auto (a bar on a terminal, otherwise a line now and then), json (one JSON object per line), none");
    options.add(general);
  }
};

}  // namespace dragoman::cli
