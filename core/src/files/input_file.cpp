#include "compressed_members.h"
#include "descriptor.h"
#include "dragoman/core/error.h"
#include "dragoman/core/file.h"
#include "dragoman/core/file_name.h"
#include "dragoman/core/publish_together.h"
#include "dragoman/core/utf8.h"
#include "locking.h"
#include "zstd_frames.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
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

/// Returns the name of the open file with all links resolved, or an empty string if it is unknown.
std::string name_behind_links(int fd) {
  std::array<char, 4096> target{};
  const ssize_t size = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
  return {target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

/// Returns whether the name ends in `.partial`, so that an OutputFile may be writing the file.
bool is_partial_file(std::string_view name) {
  if (name.ends_with(kJobSuffix)) name.remove_suffix(kJobSuffix.size());
  return name.ends_with(kPartialSuffix);
}

/// The source of an InputFile.
class Input {
 public:
  Input(std::string name, int fd, bool owned, std::stop_token stop)
      : name_(std::move(name)), descriptor_(fd, owned), stop_(stop_or_default(std::move(stop))) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return;
    require(!S_ISDIR(status.st_mode), ErrorCode::kIo, "{}: is a directory, not a file", name_);
    regular_ = S_ISREG(status.st_mode);
    named_pipe_ = S_ISFIFO(status.st_mode) && owned;
    if (!regular_) return;
    size_ = static_cast<std::uint64_t>(status.st_size);
    const std::string real_name = name_behind_links(fd);
    require(!is_partial_file(real_name) || lock_shared(fd), ErrorCode::kIo,
            "{}: is being written at this moment; read it when it has its name, or give the output another one", name_);
    require(
        !is_superseded(real_name), ErrorCode::kIo,
        "{}: is older than the files that belong to it, which an interrupted run has replaced or was about to replace; "
        "run that again, or remove {}{} if this is the file that you mean",
        name_, real_name, kSupersededSuffix);
  }
  std::size_t read(char* data, std::size_t size) const {
    // A named pipe was opened without waiting for its writer, so the first read must wait.
    if (!regular_ && (stop_.stop_possible() || named_pipe_)) wait();
    const std::size_t got = read_some(descriptor_.get(), data, size, name_);
    taken_ += got;
    return got;
  }
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  /// Returns the number of bytes read so far.
  std::uint64_t taken() const { return taken_; }
  bool is_regular() const { return regular_; }

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
  bool regular_ = false;
  bool named_pipe_ = false;
  std::uint64_t size_ = 0;
  mutable std::uint64_t taken_ = 0;
};

/// Opens a file without waiting, since a named pipe may never get a writer.
int open_input(const std::filesystem::path& path) {
  require(!path.empty(), ErrorCode::kInvalidArgument, "the name of a file to read is empty; name one");
  require_no_nul(path);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const int error = errno;
  require(fd >= 0, ErrorCode::kIo, "{}: cannot open for reading: {}; check the path and its permissions", path.string(),
          describe_error(error));
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

bool is_gzip(std::string_view head) {
  return head.starts_with("\x1f\x8b");
}
/// Returns whether the input starts with a frame, or with a skippable frame, as files of pzstd do (RFC 8878, section
/// 3.1.2).
bool is_zstd(std::string_view head) {
  const bool skippable =
      head.size() >= 4 && (static_cast<unsigned char>(head[0]) & 0xF0U) == 0x50U && head.substr(1, 3) == "\x2a\x4d\x18";
  return skippable || head.starts_with("\x28\xb5\x2f\xfd");
}

/// The first bytes of a format that would be read as text, although no UTF-8 text starts with them.
struct ForeignHead {
  std::string_view head;
  std::string_view name;
  std::string_view remedy;
};
constexpr std::string_view kUtf16 = "text in UTF-16 or UTF-32";
constexpr std::string_view kToUtf8 = "text is read as UTF-8, convert it first (iconv -f UTF-16 -t UTF-8 FILE | ...)";
constexpr std::string_view kNameText = "it holds tensors, no text and no tokenizer, so name another file";
constexpr std::string_view kZipHead = "PK\x03\x04";
constexpr ForeignHead kForeignHeads[] = {
    {"\xFD"
     "7zX",
     "an xz file", "gzip and Zstandard are read as they are, unpack others first (xz -dc FILE | ...)"},
    {kZipHead, "a zip archive", "unpack it first (unzip -p FILE | ...)"},
    {"\x80\x02\x8a\x0a", "a PyTorch file from before version 1.6", kNameText},
    {"7z\xBC\xAF", "a 7z archive", "unpack it first (7z e FILE)"},
    {"\xFF\xFE", kUtf16, kToUtf8},
    {"\xFE\xFF", kUtf16, kToUtf8}};

/// File formats that are zip archives, recognised by the end of the name of their first member: torch.save() since
/// torch 1.6, and numpy.savez().
struct ZipFile {
  std::string_view first_file;
  std::string_view name;
};
constexpr ZipFile kZipFiles[] = {{"/data.pkl", "a PyTorch file"}, {".npy", "a NumPy file (.npz)"}};

/// The offsets of the first file's name in a zip archive, and of that name's size (PKWARE's APPNOTE 6.3, section
/// 4.3.7).
constexpr std::size_t kZipName = 30;
constexpr std::size_t kZipNameSize = 26;

/// Throws for zip archives that must not be unpacked. `head` is the file's beginning.
void refuse_zip_file(std::string_view head, const std::string& name) {
  if (head.size() < kZipName) return;
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(head[i])); };
  const std::string_view first = head.substr(kZipName, byte(kZipNameSize) + (byte(kZipNameSize + 1) << 8U));
  for (const ZipFile& zip : kZipFiles)
    require(!first.ends_with(zip.first_file), ErrorCode::kBadInput, "{}: is {}; {}", name, zip.name, kNameText);
}

void require_text(std::string_view head, const std::string& name) {
  for (const ForeignHead& foreign : kForeignHeads)
    require(!head.starts_with(foreign.head), ErrorCode::kBadInput, "{}: is {}; {}", name, foreign.name, foreign.remedy);
}

/// Feeds a decompressor: first with the bytes read to detect the format, then from the descriptor.
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
      : input(std::move(name), fd, owned, std::move(stop)) {}

  /// Detects the format at the first read, so that the constructor never waits.
  void recognise() {
    recognised = true;
    read_head(4);
    if (head.starts_with(kZipHead)) {
      read_head(kZipName + 255);
      refuse_zip_file(head, input.name());
    }
    require_text(head, input.name());
    if (!is_gzip(head) && !is_zstd(head)) return;
    stream = std::make_unique<io::filtering_istream>();
    if (is_gzip(head))
      stream->push(io::gzip_decompressor(), kFileBlock);
    else
      stream->push(io::zstd_decompressor(), kFileBlock);
    stream->push(RawSource(input, std::move(head)), kFileBlock);
    stream->exceptions(std::ios::badbit);
  }

  /// Extends `head` to `size` bytes, or to the whole file if it is shorter.
  void read_head(std::size_t size) {
    std::size_t got = head.size();
    head.resize(size);
    while (got < size) {
      const std::size_t n = input.read(head.data() + got, size - got);
      if (n == 0) break;
      got += n;
    }
    head.resize(got);
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
  bool recognised = false;
  std::string head;
  std::unique_ptr<io::filtering_istream> stream;
  std::uint64_t delivered = 0;
};

InputFile::InputFile(const std::filesystem::path& path, std::stop_token stop) {
  if (path == "-") {
    impl_ = std::make_unique<Impl>("standard input", STDIN_FILENO, false, std::move(stop));
    return;
  }
  impl_ = std::make_unique<Impl>(path.string(), open_input(path), true, std::move(stop));
}

InputFile::~InputFile() = default;
InputFile::InputFile(InputFile&&) noexcept = default;
InputFile& InputFile::operator=(InputFile&&) noexcept = default;

std::size_t InputFile::read(std::span<char> buffer) {
  if (!impl_->recognised) impl_->recognise();
  return impl_->stream ? impl_->read_compressed(buffer) : impl_->read_plain(buffer);
}

const std::string& InputFile::name() const noexcept {
  return impl_->input.name();
}
std::uint64_t InputFile::size_on_disk() const noexcept {
  return impl_->input.size();
}
std::uint64_t InputFile::bytes_from_disk() const noexcept {
  return impl_->input.taken();
}
bool InputFile::is_compressed() const noexcept {
  return impl_->stream != nullptr;
}
bool InputFile::is_regular() const noexcept {
  return impl_->input.is_regular();
}

LineReader::LineReader(InputFile file) : file_(std::move(file)), buffer_(std::make_unique<char[]>(kFileBlock)) {}

bool LineReader::fill() {
  begin_ = 0;
  end_ = file_.read({buffer_.get(), kFileBlock});
  return end_ > 0;
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  if (a == "-" || b == "-") return false;
  std::error_code error;
  // Devices and pipes are not files that could be replaced: a terminal may be read and written.
  if (std::filesystem::is_other(a, error)) return false;
  if (std::filesystem::equivalent(a, b, error) && !error) return true;
  const auto resolved_a = std::filesystem::weakly_canonical(a, error);
  if (error) return false;
  const auto resolved_b = std::filesystem::weakly_canonical(b, error);
  return !error && resolved_a == resolved_b;
}

bool LineReader::next(std::string& line) {
  constexpr std::size_t kLongestLine = std::size_t{1} << 30;
  line.clear();
  bool any = false;
  bool whole = false;
  while (begin_ < end_ || fill()) {
    any = true;
    const char* start = buffer_.get() + begin_;
    const auto* newline = static_cast<const char*>(std::memchr(start, '\n', end_ - begin_));
    const std::size_t length = newline != nullptr ? static_cast<std::size_t>(newline - start) : end_ - begin_;
    require(length <= kLongestLine - line.size(), ErrorCode::kBadInput,
            "{}: line {} is longer than {} bytes; is this a text file?", file_.name(), line_number_ + 1, kLongestLine);
    line.append(start, length);
    begin_ += length;
    bytes_read_ += length;
    if (newline != nullptr) {
      ++begin_;
      ++bytes_read_;
      whole = true;
      break;
    }
  }
  if (line_number_ == 0 && line.starts_with(kByteOrderMark)) {
    line.erase(0, kByteOrderMark.size());
    any = whole || !line.empty();  // a byte order mark alone is a text without lines
  }
  line_number_ += any ? 1 : 0;
  return any;
}

namespace {

std::string read_all(InputFile& file, std::uint64_t limit) {
  std::string content;
  content.reserve(static_cast<std::size_t>(std::min(file.size_on_disk(), limit)));
  std::vector<char> block(kFileBlock);
  while (const std::size_t n = file.read(block)) {
    content.append(block.data(), n);
    require(content.size() <= limit, ErrorCode::kBadInput, "{}: larger than the {} bytes allowed for this kind of file",
            file.name(), limit);
  }
  return content;
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::uint64_t limit, const std::stop_token& stop) {
  InputFile file(path, stop);
  return read_all(file, limit);
}

std::string read_regular_file(const std::filesystem::path& path, std::uint64_t limit) {
  InputFile file(path);
  require(file.is_regular(), ErrorCode::kIo, "{}: is not a regular file but a pipe or a device; put a file there",
          path.string());
  return read_all(file, limit);
}

std::string read_beginning(const std::filesystem::path& path, std::size_t count) {
  const Descriptor file(open_input(path), true);
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const std::size_t n = read_some(file.get(), bytes.data() + done, count - done, path.string());
    if (n == 0) break;
    done += n;
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace dragoman::core
