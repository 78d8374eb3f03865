#pragma once

#include <string>

#include <dragoman/core/options.h>
#include <dragoman/server/server_options.h>

namespace dragoman::server {

/// Checks the options that are addresses, and spells them as the server compares and joins them. Throws
/// Error{kBadInput} that names the option, the value and the remedy.
void check_addresses(const core::OptionReader& reader, ServerOptions& options);

}  // namespace dragoman::server
