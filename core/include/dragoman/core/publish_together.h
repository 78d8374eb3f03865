#pragma once

#include <span>
#include <string>
#include <string_view>

#include <dragoman/core/file.h>

namespace dragoman::core {

/// An earlier file that is about to be replaced together with others has a mark: a file of its name with this suffix.
inline constexpr std::string_view kSupersededSuffix = ".superseded";

/// Publishes files that belong together, such as the two sides of parallel text. Each must be complete().
///
/// Names are given one after the other, and a process may be killed between two. So each earlier file gets a mark
/// before the first is replaced, and the mark is removed when the file is replaced itself. An earlier file among newer
/// ones of the set always has a mark, and InputFile refuses files with a mark. The content that was to replace it is
/// complete in its `.partial` file, which gets its name when the next OutputFile for it is made. If a file cannot be
/// published, the error comes from its publish().
void publish_together(std::span<OutputFile* const> files);

/// Returns whether the file has a mark.
bool is_superseded(const std::string& file) noexcept;

}  // namespace dragoman::core
