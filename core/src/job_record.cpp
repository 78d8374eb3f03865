#include "job_record.h"

#include "dragoman/core/error.h"
#include "dragoman/core/file.h"
#include "dragoman/core/json.h"
#include "dragoman/core/quote.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace dragoman::core {
namespace {

constexpr std::string_view kRemedy =
    "resume with the input, model and options that it was made with, or begin anew with --overwrite";

std::string what_differs(const std::string& before, std::string_view now) {
  const Json old_identity = Json::parse(before, nullptr, false);
  const Json new_identity = Json::parse(now, nullptr, false);
  if (old_identity.is_object() && new_identity.is_object()) return differences(old_identity, new_identity);
  return fmt::format("it was {} and is now {}", quote(before), quote(now));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return lines;  // a line that a killed process left unfinished counts for nothing
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

void JobRecord::open(int flags) {
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0666);
  const int error = errno;
  require(fd >= 0, ErrorCode::kIo, "{}: cannot open for writing: {}", path_, describe_error(error));
  descriptor_ = Descriptor(fd, true);
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

void JobRecord::create(std::string_view identity) {
  notes_.clear();
  open(O_TRUNC);
  write(std::string(identity) + "\n");
}

void JobRecord::resume(std::string_view identity, const std::string& partial) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 30;
  std::error_code ignored;
  require(std::filesystem::is_regular_file(path_, ignored), ErrorCode::kInvalidArgument,
          "{}: cannot be resumed, since {}, which says what it is of, is missing; begin anew with --overwrite", partial,
          path_);
  std::vector<std::string> lines = lines_of(read_regular_file(path_, kLargest));
  const std::string before = lines.empty() ? std::string() : lines.front();
  if (before != identity)
    fail(ErrorCode::kInvalidArgument, "{}: is of another job: {}; {}", partial, what_differs(before, identity),
         kRemedy);
  std::size_t complete = 0;
  for (const std::string& line : lines) complete += line.size() + 1;
  notes_.assign(lines.begin() + 1, lines.end());
  open(O_APPEND);
  const bool cut = ::ftruncate(descriptor_.get(), static_cast<off_t>(complete)) == 0;
  const int error = errno;
  require(cut, ErrorCode::kIo, "{}: cannot continue writing: {}", path_, describe_error(error));
}

void JobRecord::note(std::string_view line) {
  if (descriptor_.get() < 0) return;
  const std::string text = std::string(line) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(descriptor_.get(), text.data(), text.size());
}

void JobRecord::remove() noexcept {
  ::unlink(path_.c_str());
  descriptor_.close();
}

void JobRecord::remove_if_ours() noexcept {
  if (descriptor_.get() >= 0 && still_called(path_, descriptor_.get())) ::unlink(path_.c_str());
  descriptor_.close();
}

}  // namespace dragoman::core
