#include "job_record.h"

#include "dragoman/core/error.h"
#include "dragoman/core/file.h"
#include "dragoman/core/json.h"
#include "dragoman/core/option_error.h"
#include "dragoman/core/quote.h"
#include "own_file.h"

#include <sys/stat.h>

#include <cerrno>

#include <unistd.h>

namespace dragoman::core {
namespace {

constexpr std::string_view kRemedy =
    "resume with the input, model and options that it was made with, or begin anew with `overwrite`";

std::string what_differs(const std::string& before, std::string_view now) {
  const Json old_identity = try_parse_json(before).tree;
  const Json new_identity = try_parse_json(now).tree;
  if (old_identity.is_object() && new_identity.is_object()) return differences(old_identity, new_identity);
  return fmt::format("it was {} and is now {}", quote(before), quote(now));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return lines;  // an incomplete line, left by a killed process, is ignored
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

JobRecord::~JobRecord() {
  if (made_ && !begun_) remove();
}

void JobRecord::claim(bool needed) {
  struct stat status {};
  if (!needed && ::lstat(path_.c_str(), &status) != 0) return;
  bool existed = false;
  descriptor_ = open_own_file(path_, existed);
  made_ = !existed;
}

/// Reads through the descriptor that holds the lock.
std::string JobRecord::read() const {
  constexpr std::size_t kLargest = std::size_t{1} << 30;
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  ::lseek(descriptor_.get(), 0, SEEK_SET);
  std::string text;
  for (std::size_t size = 0;; size = text.size()) {
    require(size <= kLargest, ErrorCode::kBadInput, "{}: has more than {} bytes; remove it", path_, kLargest);
    text.resize(size + kBlock);
    const std::size_t n = read_some(descriptor_.get(), text.data() + size, kBlock, path_);
    text.resize(size + n);
    if (n == 0) return text;
  }
}

void JobRecord::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor_.get(), text.data(), text.size());
    const int error = errno;
    if (n < 0 && error == EINTR) continue;
    require(n >= 0, ErrorCode::kIo, "{}: cannot write: {}", path_, describe_error(error));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void JobRecord::cut(std::size_t size) {
  const auto end = static_cast<off_t>(size);
  const bool done = ::ftruncate(descriptor_.get(), end) == 0 && ::lseek(descriptor_.get(), end, SEEK_SET) == end;
  const int error = errno;
  require(done, ErrorCode::kIo, "{}: cannot write: {}", path_, describe_error(error));
}

void JobRecord::create(std::string_view identity) {
  notes_.clear();
  begun_ = true;
  cut(0);
  write(std::string(identity) + "\n");
  // If the machine crashed and the lines of the partial file survived without this one, nothing could resume them.
  sync_own_file(descriptor_.get(), path_, false);
}

void JobRecord::resume(std::string_view identity, const std::string& partial) {
  const std::vector<std::string> lines = lines_of(read());
  require_option(!lines.empty(), "overwrite", ErrorCode::kInvalidArgument,
                 "{}: cannot be resumed, since {}, which says what it is of, is missing; begin anew with `overwrite`",
                 partial, path_);
  const std::string& before = lines.front();
  if (before != identity)
    fail_option("overwrite", ErrorCode::kInvalidArgument, "{}: is of another job: {}; {}", partial,
                what_differs(before, identity), kRemedy);
  std::size_t complete = 0;
  for (const std::string& line : lines) complete += line.size() + 1;
  notes_.assign(lines.begin() + 1, lines.end());
  begun_ = true;
  cut(complete);
}

void JobRecord::note(std::string_view line) {
  if (!begun_) return;
  const std::string text = std::string(line) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(descriptor_.get(), text.data(), text.size());
}

void JobRecord::remove() noexcept {
  if (descriptor_.get() >= 0 && still_called(path_, descriptor_.get())) ::unlink(path_.c_str());
  descriptor_.close();
  begun_ = false;
}

}  // namespace dragoman::core
