#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::core {

/// Sequential reader of a file, or of standard input for "-". gzip and Zstandard are recognised by their first bytes,
/// not by name. Every failure throws Error{kIo or kBadInput} that names the file; a `.partial` file that an OutputFile
/// is writing at this moment is refused. One thread at a time.
///
/// Pipes and terminals can stay silent for ever: a stop request ends the wait for them, and for a named pipe's first
/// writer, with Error{kInterrupted}. Regular files never wait, so their readers look at the token themselves, where a
/// partial result can still be kept.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path, std::stop_token stop = {});
  ~InputFile();
  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;

  /// Fills `buffer` as far as the input goes; returns the number of bytes, 0 only at the end.
  std::size_t read(std::span<char> buffer);
  /// For messages: the path, or "standard input".
  const std::string& name() const noexcept;
  /// Size on disk in bytes, or 0 where it is not known (pipes).
  std::uint64_t size_on_disk() const noexcept;
  /// Bytes taken from the disk so far (before decompression), of size_on_disk().
  std::uint64_t bytes_from_disk() const noexcept;
  bool is_compressed() const noexcept;
  bool is_regular() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The stop for readers and writers that are given none, such as those of a tokenizer or a configuration, which may be
/// pipes: so that a program that is interrupted ends whatever it waits for. To be set before the first file is opened,
/// by the program alone; without it they wait as long as it takes.
void set_default_stop(std::stop_token stop);

/// Reads lines. A line ends at LF, which is not part of it; an unterminated last line counts; a CR is kept.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path, std::stop_token stop = {})
      : LineReader(InputFile(path, std::move(stop))) {}
  explicit LineReader(InputFile file);

  /// Stores the next line and returns true, or returns false at the end. A byte order mark before the first line is no
  /// part of it. `line` keeps its capacity. A line over 1 GiB is Error{kBadInput}: no text has one, but devices do.
  bool next(std::string& line);
  /// Lines read so far; the number (from 1) of the line that next() stored last.
  std::uint64_t line_number() const noexcept { return line_number_; }
  /// Bytes (after decompression) consumed so far.
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }
  const std::string& name() const noexcept { return file_.name(); }
  std::uint64_t size_on_disk() const noexcept { return file_.size_on_disk(); }
  /// Of size_on_disk(), what the lines so far took; of compressed files what has been read to get them, which is more.
  std::uint64_t bytes_from_disk() const noexcept {
    return file_.is_compressed() ? file_.bytes_from_disk() : bytes_read_;
  }

 private:
  bool fill();

  InputFile file_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t line_number_ = 0;
  std::uint64_t bytes_read_ = 0;
};

/// Whether both names lead to one file, or would if it were there. "-" is no file.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// What is behind the name of a file or folder in the making.
inline constexpr std::string_view kPartialSuffix = ".partial";

/// What is behind that for the file that says what it is of.
inline constexpr std::string_view kJobSuffix = ".job";

/// What becomes of the `<path>.partial` that an interrupted run left behind.
enum class PartialPolicy : std::uint8_t {
  kReplace,    ///< written anew at the first write; what is written now stays if it is not committed
  kRefuse,     ///< Error{kInvalidArgument} that names the options `resume` and `overwrite`, unless it is empty
  kResume,     ///< continued after its last complete line; begun anew if there is none
  kTemporary,  ///< half of it is worth nothing: written anew, and removed if it is not committed
};

struct OutputOptions {
  PartialPolicy partial = PartialPolicy::kReplace;
  /// What the output is of (input, model, options), as one line, best a JSON object. It is kept beside the partial file
  /// in `<path>.partial.job`, and kResume refuses a partial file of something else, naming the keys that differ. Empty:
  /// nothing is kept or compared.
  std::string identity = {};
  /// Returns how many lines of the partial file belong to this job according to its notes. kResume drops the lines
  /// after them. It is called with several prefixes of the notes, and a longer prefix must never give fewer lines. If
  /// it is not set, all complete lines are kept.
  using Vouched = std::function<std::uint64_t(const std::vector<std::string>& notes)>;
  Vouched vouched = {};
  /// Ends the wait for a pipe that nobody reads.
  std::stop_token stop = {};
};

/// Sequential writer to a file, or to standard output for "-".
///
/// A regular file is written as `<path>.partial`, beside the file that links lead to, and takes its name at commit(),
/// so that a reader never sees half a file; an existing file's permissions are kept. Devices, pipes and open
/// descriptors (/dev/stdout, /dev/fd/3) are written directly. Without commit() the partial file stays, so that nothing
/// already written is lost; one in which nothing was written is removed.
///
/// The partial file belongs to one writer at a time: it is locked, never reached through a link, and left alone until
/// the first write, so that a command whose input it is finds that out first.
///
/// A name that ends in .gz or .zst is written compressed, in members that each hold whole lines and stand for
/// themselves (RFC 1952, section 2.2; RFC 8878, section 3.1): an interrupted file can be read as far as it goes, and
/// resumed.
///
/// A failed write (full disk) throws Error{kIo} naming the file; Error{kClosedPipe} says that the reader went away.
/// One thread at a time.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path, const OutputOptions& options = {});
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;

  void write(std::string_view bytes);
  /// Hands everything written so far to the operating system. A compressed file keeps the last few seconds to itself.
  void flush();
  /// complete() and publish(). Nothing may be written afterwards.
  void commit();
  /// The first half: flushes and syncs, which is where disks turn out to be full. Files that belong together are all
  /// completed before the first is published. Nothing may be written afterwards.
  void complete();
  /// The second half, after complete(): gives the file its name, and syncs the folder.
  void publish();

  /// Complete lines that were there before, with kResume.
  std::uint64_t lines_kept() const noexcept;
  /// What note() had added to the file beside the partial one before the interruption, with kResume.
  const std::vector<std::string>& notes() const noexcept;
  /// Adds a line to the file beside the partial one, if there is one: how far the job has come. A note may be lost with
  /// the process; those before it stand.
  void note(std::string_view line);

  const std::string& name() const noexcept;
  /// Where the bytes are until commit(): "<path>.partial", or the name itself for what is written directly.
  const std::string& partial_name() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The whole file (decompressed), at most `limit` bytes; a larger file is an Error that says so.
std::string read_file(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 32,
                      const std::stop_token& stop = {});
/// The same for what must be a regular file, such as a part of a model: a pipe or a device, which might never end, is
/// Error{kIo}.
std::string read_regular_file(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 32);
/// The first `count` bytes of a regular file as they are, fewer if it is shorter: what kind of file is it? Error{kIo}.
std::string read_beginning(const std::filesystem::path& path, std::size_t count);

/// Writes through an OutputFile: the old content survives until the new one is complete on disk.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace dragoman::core
