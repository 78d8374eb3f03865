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

  /// Begins a new record.
  void create(std::string_view identity);
  /// Reads the record and goes on with it. Error{kInvalidArgument} if there is none or if it is of another job than
  /// `identity`: the message names `partial` and, of JSON objects, the keys that differ.
  void resume(std::string_view identity, const std::string& partial);
  const std::vector<std::string>& notes() const noexcept { return notes_; }
  /// Does nothing without a record. A note that the disk refuses is lost.
  void note(std::string_view line);
  /// Removes what may stand there, of whatever job. Only while the partial file is locked.
  void remove() noexcept;
  /// Removes the record that create() or resume() opened, and not that of somebody who has begun since.
  void remove_if_ours() noexcept;

 private:
  void open(int flags);
  void write(std::string_view text);

  std::string path_;
  Descriptor descriptor_;
  std::vector<std::string> notes_;
};

}  // namespace dragoman::core
