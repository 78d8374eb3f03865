#pragma once

namespace dragoman::cli {

/// From this call on, if another program truncates a mapped file while this one reads it, the process ends with status
/// 1 and a message that names the file. Without it, SIGBUS kills the process without a message.
void watch_for_cut_files();

}  // namespace dragoman::cli
