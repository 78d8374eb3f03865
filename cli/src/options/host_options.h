#pragma once

#include <filesystem>

#include <boost/program_options.hpp>

#include <dragoman/plugins/host.h>

namespace dragoman::cli {

/// Returns the folder for data that programs can compute again: $XDG_CACHE_HOME/dragoman, else ~/.cache/dragoman
/// (freedesktop.org, XDG Base Directory Specification). Empty if the environment names neither.
std::filesystem::path cache_folder();

/// Adds --plugin, for every command that uses models.
inline void add_host_options(boost::program_options::options_description& options, plugins::HostOptions& host) {
  host.plugin_folder = plugins::installed_plugin_folder();
  host.cache_folder = cache_folder();
  options.add_options()("plugin", boost::program_options::value(&host.plugins)->value_name("FILE")->composing(),
                        "load a plugin: a file, or the name of an installed one (may be repeated)");
}

}  // namespace dragoman::cli
