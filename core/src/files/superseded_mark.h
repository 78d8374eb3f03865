#pragma once

#include <string>

namespace dragoman::core {

/// Removes the mark of a file that was replaced (see publish_together()). A file of the mark's name that is not a mark
/// stays. Throws Error{kIo}.
void remove_mark(const std::string& file);
/// Removes a mark without effect: the process that made it ended before it replaced any file of its set, or after it
/// had replaced this one.
void remove_mark_without_meaning(const std::string& file);

}  // namespace dragoman::core
