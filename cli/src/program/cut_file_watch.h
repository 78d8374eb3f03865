#pragma once

namespace dragoman::cli {

/// From now on a mapped file that another program cuts short while this one reads it ends the process with status 1 and
/// a message that names the file. Without it SIGBUS kills the process without a message.
void watch_for_cut_files();

}  // namespace dragoman::cli
