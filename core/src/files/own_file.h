#pragma once

#include "descriptor.h"

#include <string>

namespace dragoman::core {

/// Opens a file beside an output for reading and writing, makes it if it is not there, and locks it; `existed` tells
/// whether it was there. Nothing in it changes. Error{kIo} if it cannot be ours to write: a link, a pipe or a device,
/// a file of somebody else or with another name, or one that another process or this command's own input has open.
Descriptor open_own_file(const std::string& path, bool& existed);

}  // namespace dragoman::core
