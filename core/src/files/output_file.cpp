#include "compressed_members.h"
#include "descriptor.h"
#include "dragoman/core/error.h"
#include "dragoman/core/file.h"
#include "dragoman/core/folder.h"
#include "dragoman/core/named_file.h"
#include "dragoman/core/option_error.h"
#include "dragoman/core/publish_together.h"
#include "dragoman/core/stop_scope.h"
#include "job_record.h"
#include "locking.h"
#include "output_target.h"
#include "own_file.h"
#include "superseded_mark.h"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace dragoman::core {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// The interval after which the pending lines of a compressed file are written although they do not fill a member.
constexpr std::chrono::seconds kMemberInterval{5};

/// The number of bytes between two looks at a stop request.
constexpr std::size_t kMaxAtOnce = std::size_t{1} << 22;

/// The target of output that is written directly.
struct DirectOutput {
  Descriptor descriptor;
  /// For pipes, sockets and terminals, whose reader may delay a writer.
  bool may_wait;
};

bool may_wait(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && !S_ISREG(status.st_mode) && (!S_ISCHR(status.st_mode) || ::isatty(fd) != 0);
}

DirectOutput open_descriptor(int number, const std::string& name) {
  const int fd = ::fcntl(number, F_DUPFD_CLOEXEC, 3);
  const int error = errno;
  require(fd >= 0, ErrorCode::kIo, "{}: cannot open for writing: {}", name, describe_error(error));
  return {Descriptor(fd, true), may_wait(fd)};
}

/// Opens a device. For a named pipe without a reader it tries again and again, so that a stop request ends the wait.
DirectOutput open_device(const OutputTarget& target, const std::string& name, const std::stop_token& stop) {
  constexpr int kMilliseconds = 50;
  for (;;) {
    const int fd = ::open(target.path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    const int error = errno;
    if (fd >= 0) {
      ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
      return {Descriptor(fd, true), may_wait(fd)};
    }
    require(error == ENXIO && target.named_pipe, ErrorCode::kIo, "{}: cannot open for writing: {}", name,
            describe_error(error));
    require(!stop.stop_requested(), ErrorCode::kInterrupted, "interrupted while waiting for a reader of {}", name);
    ::poll(nullptr, 0, kMilliseconds);
  }
}

/// Gives the new file the owner and permissions of the file that it replaces.
void take_over_permissions(int fd, const OutputTarget::Owner& owner) {
  [[maybe_unused]] const int changed = ::fchown(fd, owner.user, owner.group);  // only root may give files away
  ::fchmod(fd, owner.mode);
}

}  // namespace

struct OutputFile::Impl {
  Impl(std::string given_name, DirectOutput output, std::stop_token stop_token)
      : name(std::move(given_name)),
        partial(name),
        stop(stop_or_default(std::move(stop_token))),
        direct(true),
        may_wait(output.may_wait),
        begun(true),
        descriptor(std::move(output.descriptor)) {
    buffer.reserve(kFileBlock);
  }

  Impl(std::string given_name, const OutputTarget& target, const OutputOptions& options)
      : name(std::move(given_name)),
        final_path(target.path.string()),
        partial(final_path + std::string(kPartialSuffix)),
        stop(stop_or_default(options.stop)),
        policy(options.partial),
        identity(options.identity),
        compression(compression_of(target.path)),
        descriptor(open_own_file(partial, existed)) {
    try {
      if (existed && is_superseded(final_path))
        finish_publication();
      else
        remove_mark_without_meaning(final_path);
      open_job(target, options);
    } catch (...) {
      if (!existed) ::unlink(partial.c_str());
      throw;
    }
  }

  void open_job(const OutputTarget& target, const OutputOptions& options) {
    buffer.reserve(kFileBlock);
    if (target.existing) take_over_permissions(descriptor.get(), *target.existing);
    const off_t old_size = existed ? ::lseek(descriptor.get(), 0, SEEK_END) : 0;
    const bool holds_something = old_size > 0;
    require_option(
        !holds_something || policy != PartialPolicy::kRefuse, "resume", ErrorCode::kInvalidArgument,
        "{}: an interrupted run left {} bytes there; continue it with `resume`, or begin anew with `overwrite`",
        partial, static_cast<std::int64_t>(old_size));
    job.claim(!identity.empty());
    if (holds_something && policy == PartialPolicy::kResume) resume(options.vouched);
    existed = holds_something;
  }

  /// Publishes the partial file of an earlier job. It is complete, and other files of its set are published already, so
  /// it is published whatever becomes of this job.
  void finish_publication() {
    rename_to_final();
    descriptor = open_own_file(partial, existed);
  }

  CompleteLines count_lines(std::uint64_t most) const {
    ::lseek(descriptor.get(), 0, SEEK_SET);
    return complete_lines(compression, descriptor.get(), partial, most);
  }

  /// Returns the number of lines for which the notes vouch. Uses the last note that does not report more lines than the
  /// file has, because nothing is known about the missing lines. More notes never vouch for fewer lines, so a binary
  /// search calls `vouched` only a few times.
  std::uint64_t vouched_up_to(std::uint64_t lines, const OutputOptions::Vouched& vouched) const {
    const std::vector<std::string>& notes = job.notes();
    const auto first = [&](std::size_t count) {
      return vouched({notes.begin(), notes.begin() + static_cast<std::ptrdiff_t>(count)});
    };
    std::size_t fitting = 0;
    for (std::size_t most = notes.size(); fitting < most;) {
      const std::size_t middle = most - (most - fitting) / 2;
      const bool fits = first(middle) <= lines;
      (fits ? fitting : most) = fits ? middle : middle - 1;
    }
    return first(fitting);
  }

  /// Continues after the last complete line, or after the last one for which the notes vouch.
  void resume(const OutputOptions::Vouched& vouched) {
    CompleteLines kept = count_lines(std::numeric_limits<std::uint64_t>::max());
    if (kept.lines == 0) return;
    if (!identity.empty()) {
      job.resume(identity, partial);
      if (vouched) kept = count_lines(vouched_up_to(kept.lines, vouched));
      if (kept.lines == 0) return;
    }
    cut(static_cast<off_t>(kept.bytes));
    lines_kept = kept.lines;
    begun = true;
  }

  void cut(off_t size) {
    const bool done = ::ftruncate(descriptor.get(), size) == 0 && ::lseek(descriptor.get(), size, SEEK_SET) == size;
    const int error = errno;
    require(done, ErrorCode::kIo, "{}: cannot write: {}", partial, describe_error(error));
  }

  /// Prepares the file for the first byte.
  void begin() {
    if (begun) return;
    // The file is truncated first: old bytes with a new identity would be resumed as if they belonged to this job.
    cut(0);
    if (identity.empty())
      job.remove();
    else
      job.create(identity);
    begun = true;
  }

  /// Waits until the reader accepts data. Returns the number of bytes that can be written without further waiting.
  std::size_t room() const {
    constexpr int kMilliseconds = 50;
    constexpr int kPatience = 20;  // after a stop request: a reader that is present still gets its data
    pollfd ready{.fd = descriptor.get(), .events = POLLOUT, .revents = 0};
    for (int waited = 0; ::poll(&ready, 1, kMilliseconds) <= 0;)
      require(!stop.stop_requested() || ++waited < kPatience, ErrorCode::kInterrupted,
              "interrupted while writing {}, which nobody reads", name);
    return PIPE_BUF;
  }

  [[noreturn]] void fail_write(int error) const {
    const bool kept = !direct && policy != PartialPolicy::kTemporary;  // see abandon()
    fail(ErrorCode::kIo, "{}: cannot write: {}{}", partial, describe_error(error),
         kept ? "; what was written before is kept" : "");
  }

  void write_out(std::string_view bytes) {
    begin();
    while (!bytes.empty()) {
      // A file that would be removed anyway need not be written to its end.
      if (policy == PartialPolicy::kTemporary) check_stop("writing a file");
      const std::size_t size =
          may_wait && stop.stop_possible() ? std::min(bytes.size(), room()) : std::min(bytes.size(), kMaxAtOnce);
      const ssize_t n = ::write(descriptor.get(), bytes.data(), size);
      const int error = errno;
      if (n < 0 && error == EINTR) continue;
      if (n < 0 && error == EPIPE) fail(ErrorCode::kClosedPipe, "{}: cannot write: its reader has gone away", name);
      if (n < 0) fail_write(error);
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  void flush() {
    if (compression != Compression::kNone) return flush_members(false);
    if (buffer.empty()) return;
    std::string pending = std::move(buffer);
    buffer.clear();  // data that could not be written is not tried again
    write_out(pending);
    pending.clear();
    buffer = std::move(pending);
  }

  /// Writes the complete lines as a member if they fill one, if the interval has passed, or if `all` is set. With
  /// `all`, the incomplete last line is written too.
  void flush_members(bool all) {
    const Clock::time_point now = Clock::now();
    if (!all && buffer.size() < kFileBlock && now - last_member < kMemberInterval) return;
    const std::size_t last = buffer.rfind('\n');
    const std::size_t size = all ? buffer.size() : last == std::string::npos ? 0 : last + 1;
    if (size == 0) return;
    const std::string member = compress_member(compression, std::string_view(buffer).substr(0, size));
    buffer.erase(0, size);
    last_member = now;
    write_out(member);
  }

  void flush_all() {
    if (compression == Compression::kNone) return flush();
    // An empty file of these formats has one empty member: gzip -t rejects a file of zero bytes.
    if (!begun && buffer.empty()) write_out(compress_member(compression, ""));
    flush_members(true);
  }

  void complete() {
    flush_all();
    begin();
    if (direct) return;
    sync_own_file(descriptor.get(), partial, policy == PartialPolicy::kTemporary);
  }

  void rename_to_final() const {
    const int error = std::rename(partial.c_str(), final_path.c_str()) == 0 ? 0 : errno;
    require(error == 0, ErrorCode::kIo, "{}: cannot rename to {}: {}", partial, final_path, describe_error(error));
    remove_mark(final_path);
    const fs::path parent = fs::path(final_path).parent_path();
    sync_folder(parent.empty() ? fs::path(".") : parent);
  }

  void publish() {
    if (direct) return;
    rename_to_final();
    committed = true;
    job.remove();
    descriptor.close();
  }

  /// Ends without commit(): keeps the data written, and leaves no trace of a job that wrote nothing.
  void abandon() noexcept {
    try {
      if (policy != PartialPolicy::kTemporary && !committed && (begun || !buffer.empty())) flush_all();
    } catch (...) {
      // Destructors run while another error is propagated, such as a lack of memory. That error is the one to report.
    }
    const bool worthless = policy == PartialPolicy::kTemporary ? begun || !existed : !begun && !existed;
    if (direct || committed || !worthless) return;
    job.remove();
    ::unlink(partial.c_str());
  }

  ~Impl() { abandon(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::string name;
  std::string final_path;
  std::string partial;
  std::stop_token stop;
  PartialPolicy policy = PartialPolicy::kReplace;
  std::string identity;
  Compression compression = Compression::kNone;
  bool direct = false;
  bool may_wait = false;
  bool existed = false;  ///< there is a partial file with content
  bool begun = false;    ///< the content of the partial file was removed or is being continued
  bool committed = false;
  Descriptor descriptor;
  JobRecord job{partial + std::string(kJobSuffix)};
  std::string buffer;
  Clock::time_point last_member = Clock::now();
  std::uint64_t lines_kept = 0;
};

namespace {

[[noreturn]] void fail_for_what_is_in_the_way(const fs::path& path) {
  fail(ErrorCode::kIo,
       "{}: is in the way: it is a link, a pipe or a device, and this file of the program's own is not written through "
       "it; remove it",
       path.string());
}

/// publish() renames, so a link that takes this path afterwards is replaced and never followed.
void require_nothing_to_follow(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return;
  fail_for_what_is_in_the_way(path);
}

}  // namespace

OutputFile::OutputFile(const fs::path& path, const OutputOptions& options) {
  if (path == "-") {
    DirectOutput output{Descriptor(STDOUT_FILENO, false), core::may_wait(STDOUT_FILENO)};
    impl_ = std::make_unique<Impl>("standard output", std::move(output), options.stop);
    return;
  }
  const std::string name = path.string();
  const OutputTarget target = resolve_output(path);
  switch (target.kind) {
    case OutputTarget::Kind::kDescriptor:
      impl_ = std::make_unique<Impl>(name, open_descriptor(target.descriptor, name), options.stop);
      break;
    case OutputTarget::Kind::kDirect:
      impl_ = std::make_unique<Impl>(name, open_device(target, name, stop_or_default(options.stop)), options.stop);
      break;
    case OutputTarget::Kind::kFile:
      impl_ = std::make_unique<Impl>(name, target, options);
      break;
  }
}

OutputFile::~OutputFile() = default;
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;

void OutputFile::write(std::string_view bytes) {
  if (impl_->buffer.size() + bytes.size() > kFileBlock) impl_->flush();
  if (bytes.size() >= kFileBlock && impl_->compression == Compression::kNone)
    impl_->write_out(bytes);
  else
    impl_->buffer.append(bytes);
}

void OutputFile::flush() {
  impl_->flush();
}

void OutputFile::commit() {
  complete();
  publish();
}

void OutputFile::complete() {
  impl_->complete();
}

void OutputFile::publish() {
  impl_->publish();
}

std::uint64_t OutputFile::lines_kept() const noexcept {
  return impl_->lines_kept;
}
const std::vector<std::string>& OutputFile::notes() const noexcept {
  return impl_->job.notes();
}
void OutputFile::note(std::string_view line) {
  impl_->job.note(line);
}
const std::string& OutputFile::name() const noexcept {
  return impl_->name;
}
const std::string& OutputFile::partial_name() const noexcept {
  return impl_->partial;
}

void write_file(const fs::path& path, std::string_view content) {
  require_nothing_to_follow(path);
  OutputFile file(path, {.partial = PartialPolicy::kTemporary});
  // A link may have been put there in the meantime, and its target is what would be replaced.
  if (file.partial_name() != path.string() + std::string(kPartialSuffix)) fail_for_what_is_in_the_way(path);
  file.write(content);
  file.commit();
}

void write_named_file(const fs::path& path, std::string_view content) {
  OutputFile file(path, {.partial = PartialPolicy::kTemporary});
  file.write(content);
  file.commit();
}

}  // namespace dragoman::core
