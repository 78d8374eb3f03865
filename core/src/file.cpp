#include "dragoman/core/file.h"

#include "dragoman/core/error.h"
#include "zstd_frames.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace dragoman::core {
namespace {

namespace io = boost::iostreams;
constexpr std::size_t kBlock = std::size_t{1} << 20;

class Descriptor {
 public:
  Descriptor(int fd, bool owned) : fd_(fd), owned_(owned) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  /// Returns false if the operating system reports a late write error.
  bool close() {
    const bool ok = !owned_ || fd_ < 0 || ::close(fd_) == 0;
    fd_ = -1;
    return ok;
  }

 private:
  int fd_;
  bool owned_;
};

std::size_t read_some(int fd, char* data, std::size_t size, const std::string& name) {
  for (;;) {
    const ssize_t got = ::read(fd, data, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    require(errno == EINTR, ErrorCode::kIo, "{}: cannot read: {}", name, std::strerror(errno));
  }
}

/// What an InputFile reads from.
class Input {
 public:
  Input(std::string name, int fd, bool owned, std::stop_token stop)
      : name_(std::move(name)), descriptor_(fd, owned), stop_(std::move(stop)) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return;
    require(!S_ISDIR(status.st_mode), ErrorCode::kIo, "{}: is a directory, not a file", name_);
    may_wait_ = !S_ISREG(status.st_mode);
    if (!may_wait_) size_ = static_cast<std::uint64_t>(status.st_size);
  }
  std::size_t read(char* data, std::size_t size) const {
    if (may_wait_ && stop_.stop_possible()) wait();
    return read_some(descriptor_.get(), data, size, name_);
  }
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }

 private:
  void wait() const {
    constexpr int kMilliseconds = 50;
    for (pollfd ready{.fd = descriptor_.get(), .events = POLLIN, .revents = 0};;) {
      require(!stop_.stop_requested(), ErrorCode::kInterrupted, "interrupted while reading {}", name_);
      if (::poll(&ready, 1, kMilliseconds) > 0) return;
    }
  }

  std::string name_;
  Descriptor descriptor_;
  std::stop_token stop_;
  bool may_wait_ = false;
  std::uint64_t size_ = 0;
};

bool is_gzip(std::string_view head) {
  return head.starts_with("\x1f\x8b");
}
bool is_zstd(std::string_view head) {
  return head.starts_with("\x28\xb5\x2f\xfd");
}

/// Feeds a decompressor: first the bytes that were read to recognise the format, then the descriptor.
class RawSource {
 public:
  using char_type = char;
  using category = io::source_tag;
  RawSource(const Input& input, std::string head) : input_(&input), head_(std::move(head)), zstd_(is_zstd(head_)) {}
  std::streamsize read(char* data, std::streamsize size) {
    const std::size_t n = read_bytes(data, static_cast<std::size_t>(size));
    if (zstd_) frames_.consume({data, n});
    require(n > 0 || !zstd_ || frames_.complete(), ErrorCode::kBadInput,
            "{}: truncated compressed data: its last Zstandard frame is not complete; test it with zstd -t",
            input_->name());
    return n == 0 ? -1 : static_cast<std::streamsize>(n);
  }

 private:
  std::size_t read_bytes(char* data, std::size_t size) {
    if (used_ == head_.size()) return input_->read(data, size);
    const auto n = std::min(size, head_.size() - used_);
    std::memcpy(data, head_.data() + used_, n);
    used_ += n;
    return n;
  }

  const Input* input_;
  std::string head_;
  bool zstd_;
  std::size_t used_ = 0;
  ZstdFrames frames_;
};

}  // namespace

struct InputFile::Impl {
  Impl(std::string name, int fd, bool owned, std::stop_token stop)
      : input(std::move(name), fd, owned, std::move(stop)) {
    recognise();
  }

  void recognise() {
    head.resize(4);
    std::size_t got = 0;
    while (got < head.size()) {
      const std::size_t n = input.read(head.data() + got, head.size() - got);
      if (n == 0) break;
      got += n;
    }
    head.resize(got);
    if (!is_gzip(head) && !is_zstd(head)) return;
    stream = std::make_unique<io::filtering_istream>();
    if (is_gzip(head))
      stream->push(io::gzip_decompressor(), kBlock);
    else
      stream->push(io::zstd_decompressor(), kBlock);
    stream->push(RawSource(input, std::move(head)), kBlock);
    stream->exceptions(std::ios::badbit);
  }

  std::size_t read_plain(std::span<char> buffer) {
    if (!head.empty()) {
      const std::size_t n = std::min(buffer.size(), head.size());
      std::memcpy(buffer.data(), head.data(), n);
      head.erase(0, n);
      return n;
    }
    return input.read(buffer.data(), buffer.size());
  }

  std::size_t read_compressed(std::span<char> buffer) {
    try {
      stream->read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      fail(ErrorCode::kBadInput,
           "{}: damaged or truncated compressed data after {} bytes of text ({}); test it with gzip -t or zstd -t",
           input.name(), delivered, error.what());
    }
    delivered += static_cast<std::uint64_t>(stream->gcount());
    return static_cast<std::size_t>(stream->gcount());
  }

  Input input;
  std::string head;
  std::unique_ptr<io::filtering_istream> stream;
  std::uint64_t delivered = 0;
};

InputFile::InputFile(const std::filesystem::path& path, std::stop_token stop) {
  if (path == "-") {
    impl_ = std::make_unique<Impl>("standard input", STDIN_FILENO, false, std::move(stop));
    return;
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0, ErrorCode::kIo, "{}: cannot open for reading: {}; check the path and its permissions", path.string(),
          std::strerror(errno));
  impl_ = std::make_unique<Impl>(path.string(), fd, true, std::move(stop));
}

InputFile::~InputFile() = default;
InputFile::InputFile(InputFile&&) noexcept = default;
InputFile& InputFile::operator=(InputFile&&) noexcept = default;

std::size_t InputFile::read(std::span<char> buffer) {
  return impl_->stream ? impl_->read_compressed(buffer) : impl_->read_plain(buffer);
}

const std::string& InputFile::name() const noexcept {
  return impl_->input.name();
}
std::uint64_t InputFile::size_on_disk() const noexcept {
  return impl_->input.size();
}

LineReader::LineReader(InputFile file) : file_(std::move(file)), buffer_(std::make_unique<char[]>(kBlock)) {}

bool LineReader::fill() {
  begin_ = 0;
  end_ = file_.read({buffer_.get(), kBlock});
  return end_ > 0;
}

bool LineReader::next(std::string& line) {
  line.clear();
  bool any = false;
  while (begin_ < end_ || fill()) {
    any = true;
    const char* start = buffer_.get() + begin_;
    const auto* newline = static_cast<const char*>(std::memchr(start, '\n', end_ - begin_));
    const std::size_t length = newline != nullptr ? static_cast<std::size_t>(newline - start) : end_ - begin_;
    line.append(start, length);
    begin_ += length;
    bytes_read_ += length;
    if (newline != nullptr) {
      ++begin_;
      ++bytes_read_;
      break;
    }
  }
  line_number_ += any ? 1 : 0;
  return any;
}

struct OutputFile::Impl {
  Impl(std::string file_name, std::string partial_file, int fd, bool owned)
      : name(std::move(file_name)), partial(std::move(partial_file)), descriptor(fd, owned) {
    buffer.reserve(kBlock);
  }

  void write_out(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(descriptor.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      require(n >= 0, ErrorCode::kIo, "{}: cannot write: {}; what was written before is kept", partial,
              std::strerror(errno));
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  void flush() {
    std::string pending = std::move(buffer);
    buffer.clear();
    write_out(pending);
    pending.clear();
    buffer = std::move(pending);
  }

  std::string name;
  std::string partial;
  Descriptor descriptor;
  std::string buffer;
  bool committed = false;
};

OutputFile::OutputFile(const std::filesystem::path& path) {
  if (path == "-") {
    impl_ = std::make_unique<Impl>("standard output", "standard output", STDOUT_FILENO, false);
    return;
  }
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  require(!std::filesystem::is_directory(status), ErrorCode::kIo, "{}: is a directory; name a file to write",
          path.string());
  const bool direct = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  const std::string partial = direct ? path.string() : path.string() + ".partial";
  const int fd = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  require(fd >= 0, ErrorCode::kIo, "{}: cannot open for writing: {}; check that the folder exists and is writable",
          partial, std::strerror(errno));
  impl_ = std::make_unique<Impl>(path.string(), partial, fd, true);
}

namespace {

struct CompleteLines {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
};

CompleteLines count_complete_lines(const std::string& path) {
  CompleteLines count;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0, ErrorCode::kIo, "{}: cannot open to resume: {}", path, std::strerror(errno));
  const Descriptor descriptor(fd, true);
  std::vector<char> block(kBlock);
  for (std::uint64_t offset = 0; const std::size_t n = read_some(fd, block.data(), block.size(), path); offset += n) {
    const std::string_view text(block.data(), n);
    count.lines += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    if (const std::size_t last = text.rfind('\n'); last != std::string_view::npos) count.bytes = offset + last + 1;
  }
  return count;
}

}  // namespace

OutputFile::OutputFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

OutputFile OutputFile::resume(const std::filesystem::path& path, std::uint64_t& lines) {
  const std::string partial = path.string() + ".partial";
  lines = 0;
  if (path == "-" || !std::filesystem::is_regular_file(partial)) return OutputFile(path);
  const CompleteLines kept = count_complete_lines(partial);
  const int fd = ::open(partial.c_str(), O_WRONLY | O_CLOEXEC);
  require(fd >= 0 && ::ftruncate(fd, static_cast<off_t>(kept.bytes)) == 0 && ::lseek(fd, 0, SEEK_END) >= 0,
          ErrorCode::kIo, "{}: cannot continue writing: {}", partial, std::strerror(errno));
  lines = kept.lines;
  return OutputFile(std::make_unique<Impl>(path.string(), partial, fd, true));
}

OutputFile::~OutputFile() {
  if (!impl_ || impl_->committed) return;
  try {
    impl_->flush();
  } catch (const Error&) {
    // Destructors run while another error is on its way; that one is reported.
  }
}

OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;

void OutputFile::write(std::string_view bytes) {
  if (impl_->buffer.size() + bytes.size() > kBlock) impl_->flush();
  if (bytes.size() >= kBlock)
    impl_->write_out(bytes);
  else
    impl_->buffer.append(bytes);
}

void OutputFile::flush() {
  impl_->flush();
}

void OutputFile::commit() {
  impl_->flush();
  impl_->committed = true;
  if (impl_->partial == impl_->name) return;
  const bool synced = ::fsync(impl_->descriptor.get()) == 0;
  const int sync_error = errno;
  require(synced || sync_error == EINVAL || sync_error == EROFS, ErrorCode::kIo, "{}: cannot sync to disk: {}",
          impl_->partial, std::strerror(sync_error));
  require(impl_->descriptor.close(), ErrorCode::kIo, "{}: cannot close: {}", impl_->partial, std::strerror(errno));
  require(std::rename(impl_->partial.c_str(), impl_->name.c_str()) == 0, ErrorCode::kIo, "{}: cannot rename to {}: {}",
          impl_->partial, impl_->name, std::strerror(errno));
}

const std::string& OutputFile::name() const noexcept {
  return impl_->name;
}
const std::string& OutputFile::partial_name() const noexcept {
  return impl_->partial;
}

std::string read_file(const std::filesystem::path& path, std::uint64_t limit) {
  InputFile file(path);
  std::string content;
  content.reserve(static_cast<std::size_t>(std::min(file.size_on_disk(), limit)));
  std::vector<char> block(kBlock);
  while (const std::size_t n = file.read(block)) {
    content.append(block.data(), n);
    require(content.size() <= limit, ErrorCode::kBadInput, "{}: larger than the {} bytes allowed for this kind of file",
            file.name(), limit);
  }
  return content;
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  OutputFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace dragoman::core
