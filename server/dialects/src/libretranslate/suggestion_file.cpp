#include "dragoman/server/suggestion_file.h"

#include "common/answers.h"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <dragoman/core/error.h>

namespace dragoman::server {
namespace {

/// The file while a suggestion is written.
class OpenFile {
 public:
  /// Throws Error{kIo}.
  explicit OpenFile(const std::string& path) : path_(path) {
    // O_NONBLOCK: a pipe without a reader is an error and does not block.
    file_ =
        ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR);
    const int error = errno;
    core::require(file_ >= 0 || error != ELOOP, core::ErrorCode::kIo, "{}: is a link; name the file itself", path);
    core::require(file_ >= 0, core::ErrorCode::kIo,
                  "{}: cannot be opened: {}; check that the folder exists and is writable", path, reason(error));
    try {
      check();
    } catch (...) {
      ::close(file_);
      throw;
    }
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { ::close(file_); }

  void append(const std::string& line) const {
    core::require(size_ + line.size() <= SuggestionFile::kMaxBytes, core::ErrorCode::kIo,
                  "{}: is full: it may have {} bytes; move it away", path_, SuggestionFile::kMaxBytes);
    const ssize_t written = ::write(file_, line.data(), line.size());
    const int error = written < 0 ? errno : ENOSPC;
    if (written == static_cast<ssize_t>(line.size())) return;
    // No part of a line stays. If this fails, too, nothing else can be done.
    [[maybe_unused]] const int ignored = ::ftruncate(file_, static_cast<off_t>(size_));
    core::fail(core::ErrorCode::kIo, "{}: cannot be written: {}", path_, reason(error));
  }

 private:
  static std::string reason(int error) { return std::generic_category().message(error); }

  void check() {
    struct stat state {};
    core::require(::fstat(file_, &state) == 0 && S_ISREG(state.st_mode), core::ErrorCode::kIo, "{}: is not a file",
                  path_);
    core::require(state.st_nlink <= 1, core::ErrorCode::kIo, "{}: has another name (a hard link); name another file",
                  path_);
    size_ = static_cast<std::size_t>(state.st_size);
  }

  const std::string& path_;
  int file_ = -1;
  std::size_t size_ = 0;
};

}  // namespace

SuggestionFile::SuggestionFile(std::string path, core::LogSink log) : path_(std::move(path)), log_(std::move(log)) {
  OpenFile{path_};
}

bool SuggestionFile::append(const DialectOptions::Suggestion& suggestion) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  core::Json line = core::Json::object();
  line["time"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  line["source"] = suggestion.source;
  line["target"] = suggestion.target;
  line["text"] = suggestion.text;
  line["translation"] = suggestion.translation;
  const std::lock_guard lock(mutex_);
  try {
    OpenFile(path_).append(json_text(line) + "\n");
    failing_ = false;
    return true;
  } catch (const core::Error& error) {
    if (!std::exchange(failing_, true))
      core::log(log_, core::LogLevel::kWarning, fmt::format("a suggestion was not stored: {}", error.what()));
    return false;
  }
}

}  // namespace dragoman::server
