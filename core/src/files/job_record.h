#pragma once

#include "descriptor.h"

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::core {

/// `<path>.partial.job`: what a partial file is of, and how far the job has come. The first line is the identity, each
/// further one a note. Whoever holds the lock of the partial file may write it.
class JobRecord {
 public:
  explicit JobRecord(std::string path) : path_(std::move(path)), descriptor_(-1, false) {}
  JobRecord(const JobRecord&) = delete;
  JobRecord& operator=(const JobRecord&) = delete;
  /// Leaves no file that was only claimed.
  ~JobRecord();

  /// Opens and locks the file and changes nothing in it, so that it shows before any work is done whether it can be
  /// written; if it is not there, it is made if it is `needed`. Throws as open_own_file().
  void claim(bool needed);
  /// Begins a new record in the file that was claimed.
  void create(std::string_view identity);
  /// Reads the record that was claimed and goes on with it. Error{kInvalidArgument} if there is none or if it is of
  /// another job than `identity`: the message names `partial` and, of JSON objects, the keys that differ.
  void resume(std::string_view identity, const std::string& partial);
  const std::vector<std::string>& notes() const noexcept { return notes_; }
  /// Does nothing without a record. A note that the disk refuses is lost.
  void note(std::string_view line);
  /// Removes the file that was claimed, and not one that has taken its name since.
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
