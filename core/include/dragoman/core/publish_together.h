#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <dragoman/core/file.h>

namespace dragoman::core {

/// The suffix of the mark of an earlier file that is about to be replaced together with others. A mark is a regular
/// file with the name of that file and this suffix. Its first line states its purpose.
inline constexpr std::string_view kSupersededSuffix = ".superseded";

/// Publishes files that belong together, such as the two sides of parallel text. complete() must have been called on
/// each.
///
///     OutputFile source("train.de");
///     OutputFile target("train.en");
///     source.write("Guten Morgen!\n");
///     target.write("Good morning!\n");
///     const std::array<OutputFile*, 2> files{&source, &target};
///     for (OutputFile* file : files) file->complete();
///     publish_together(files);
///
/// The files get their names one after the other, and a process may be killed in between. Each earlier file therefore
/// gets a mark before the first one is replaced, and loses it when it is replaced itself. While the set is mixed, every
/// earlier file in it has a mark, and InputFile refuses files with a mark. The new content of such a file is complete
/// in its `.partial` file, which the next OutputFile for this path publishes. If OutputFile::publish() of a file fails,
/// its error is rethrown.
///
/// A mark is valid only while the set is mixed. A process that is killed before it replaces the first file, or between
/// replacing a file and removing its mark, leaves marks without effect.
void publish_together(std::span<OutputFile* const> files);

/// A file and its whole content.
struct FileContent {
  std::filesystem::path path;
  std::string_view content;
};

/// Writes small files that belong together, such as a vocabulary and its merges: none takes its name before all are
/// complete, as publish_together() describes.
void write_together(std::span<const FileContent> files);

/// Throws Error{kIo} if the name of a file's mark is taken by a folder or by a file that is not a mark.
/// publish_together() calls it. Call it also before the work that produces the files.
void require_places_for_marks(std::span<OutputFile* const> files);

/// Returns whether the file has a valid mark. Throws Error{kIo} if the mark cannot be read.
bool is_superseded(const std::string& file);

}  // namespace dragoman::core
