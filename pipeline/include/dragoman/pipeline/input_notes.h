#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/fingerprint.h>
#include <dragoman/core/option_error.h>

namespace dragoman::pipeline {

/// A position in the input, after one of its lines.
struct InputPoint {
  std::uint64_t lines = 0;
  std::uint64_t hash = core::kFingerprintOfNothing;  ///< core::fingerprint_of_line() over all lines so far
  std::uint64_t bytes = 0;                           ///< of the file on disk, approximately
};

/// Returns a note for core::OutputFile::note(). It records the input and the number of its lines in the partial file.
std::string to_note(const InputPoint& point);
/// Returns the positions that the notes of an interrupted run record.
std::vector<InputPoint> known_points(const std::vector<std::string>& notes);
/// Returns the number of lines that the notes vouch for, for core::OutputOptions::vouched. Later lines may come from
/// another input and are written again.
std::uint64_t vouched_lines(const std::vector<std::string>& notes);

/// Skips the input lines whose output exists already. Error{kInvalidArgument} if they are not the lines that the output
/// was made from. `reader` has skip(), hash() and name(); `writer` is an output file that was opened to resume.
template <class Reader, class Writer>
void skip_lines_kept(Reader& reader, const Writer& writer) {
  const std::uint64_t kept = writer.lines_kept();
  std::uint64_t checked = 0;
  for (const InputPoint& point : known_points(writer.notes())) {
    if (point.lines < checked || point.lines > kept) continue;
    reader.skip(point.lines - checked);
    core::require_option(reader.hash() == point.hash, "overwrite", core::ErrorCode::kInvalidArgument,
                         "{}: its lines {} to {} are not those that {} was made from; resume with the same input, or "
                         "begin anew with `overwrite`",
                         reader.name(), checked + 1, point.lines, writer.partial_name());
    checked = point.lines;
  }
  reader.skip(kept - checked);
}

}  // namespace dragoman::pipeline
