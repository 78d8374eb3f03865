#pragma once

#include "descriptor.h"

#include <string>

namespace dragoman::core {

/// Opens a file next to an output for reading and writing, creates it if it does not exist, and locks it. Sets
/// `existed` to whether it existed. The content is unchanged.
///
/// Throws Error{kIo} if the file may not be Dragoman's own:
///
/// - a link, a pipe or a device;
/// - a file of another user, or one that has a second name (hard link);
/// - a file that another process, or this command's own input, has open.
Descriptor open_own_file(const std::string& path, bool& existed);

/// Writes the data of such a file to the disk. If `may_stop`, the stop of a StopScope ends it with Error{kInterrupted}.
void sync_own_file(int fd, const std::string& path, bool may_stop);

}  // namespace dragoman::core
