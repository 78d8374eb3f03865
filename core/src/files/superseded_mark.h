#pragma once

#include <string>

namespace dragoman::core {

/// Removes the mark of a file that was replaced; see publish_together(). Another file of that name stays. Error{kIo}.
void remove_mark(const std::string& file);
/// Removes a mark that does not hold: the process that made it ended before it had replaced any file of its set, or
/// after it had replaced this one.
void remove_mark_without_meaning(const std::string& file);

}  // namespace dragoman::core
