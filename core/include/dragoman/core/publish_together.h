#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <dragoman/core/file.h>

namespace dragoman::core {

/// An earlier file that is about to be replaced together with others has a mark: a regular file of its name with this
/// suffix, whose first line states this.
inline constexpr std::string_view kSupersededSuffix = ".superseded";

/// Publishes files that belong together, such as the two sides of parallel text. Each must be complete().
///
/// Names are given one after the other, and a process may be killed between two. So each earlier file gets a mark
/// before the first is replaced, and the mark is removed when the file is replaced itself. An earlier file among newer
/// ones of the set always has a mark, and InputFile refuses files with a mark. The content that was to replace it is
/// complete in its `.partial` file, which gets its name when the next OutputFile for it is made. If a file cannot be
/// published, the error comes from its publish().
///
/// A mark holds only while the set is mixed. A process that is killed before the first file is replaced, or before it
/// removes the mark of a file that is, leaves marks that have no effect.
void publish_together(std::span<OutputFile* const> files);

/// A file and its whole content.
struct FileContent {
  std::filesystem::path path;
  std::string_view content;
};

/// Writes small files that belong together, such as a vocabulary and its merges: none takes its name before all are
/// complete, as publish_together() describes.
void write_together(std::span<const FileContent> files);

/// Throws Error{kIo} if a file that is no mark, or a folder, has the name that a mark of one of the files would have.
/// publish_together() calls it. Call it before the work that makes the files, too.
void require_places_for_marks(std::span<OutputFile* const> files);

/// Returns whether the file has a mark that holds. Throws Error{kIo} if the mark cannot be read.
bool is_superseded(const std::string& file);

}  // namespace dragoman::core
