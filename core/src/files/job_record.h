#pragma once

#include "descriptor.h"

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::core {

/// The file `<path>.partial.job`, which identifies the job of a partial file and records its progress. The first line
/// is the identity, and each further line is a note. Only the holder of the partial file's lock may write it.
class JobRecord {
 public:
  explicit JobRecord(std::string path) : path_(std::move(path)), descriptor_(-1, false) {}
  JobRecord(const JobRecord&) = delete;
  JobRecord& operator=(const JobRecord&) = delete;
  /// Removes a file that was only claimed.
  ~JobRecord();

  /// Opens and locks the file without changing it, so that an unwritable file is detected before any work is done. If
  /// it does not exist, it is created if `needed`. Throws like open_own_file().
  void claim(bool needed);
  /// Starts a new record in the claimed file.
  void create(std::string_view identity);
  /// Reads the claimed record and continues it. Throws Error{kInvalidArgument} if there is none, or if it is of another
  /// job than `identity`. The message names `partial` and, if both identities are JSON objects, the keys that differ.
  void resume(std::string_view identity, const std::string& partial);
  const std::vector<std::string>& notes() const noexcept { return notes_; }
  /// Appends a note. Does nothing without a record. A note that cannot be written is lost.
  void note(std::string_view line);
  /// Removes the claimed file, but not another file that has taken its name since.
  void remove() noexcept;

 private:
  std::string read() const;
  void write(std::string_view text);
  void cut(std::size_t size);

  std::string path_;
  bool made_ = false;
  bool begun_ = false;  ///< create() or resume() was called
  Descriptor descriptor_;
  std::vector<std::string> notes_;
};

}  // namespace dragoman::core
