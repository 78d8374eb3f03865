#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace dragoman::core {

/// Sequential reader of a file, or of standard input for "-". gzip and Zstandard are recognised by their first bytes,
/// not by name. Every failure throws Error{kIo or kBadInput} that names the file. One thread at a time.
///
/// Pipes and terminals can stay silent for ever: a stop request ends the wait for them with Error{kInterrupted}.
/// Regular files never wait, so their readers look at the token themselves, where a partial result can still be kept.
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

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reads lines. A line ends at LF, which is not part of it; an unterminated last line counts; a CR is kept.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path, std::stop_token stop = {})
      : LineReader(InputFile(path, std::move(stop))) {}
  explicit LineReader(InputFile file);

  /// Stores the next line and returns true, or returns false at the end. `line` keeps its capacity.
  bool next(std::string& line);
  /// Lines read so far; the number (from 1) of the line that next() stored last.
  std::uint64_t line_number() const noexcept { return line_number_; }
  /// Bytes (after decompression) consumed so far.
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }
  const std::string& name() const noexcept { return file_.name(); }
  std::uint64_t size_on_disk() const noexcept { return file_.size_on_disk(); }

 private:
  bool fill();

  InputFile file_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t line_number_ = 0;
  std::uint64_t bytes_read_ = 0;
};

/// Sequential writer to a file, or to standard output for "-". A regular file is written as `<path>.partial` and takes
/// its name at commit(), so that a reader never sees half a file; devices and pipes are written directly. Without
/// commit() the partial file stays, so that nothing already written is lost. A failed write (full disk) throws
/// Error{kIo} naming the file. One thread at a time.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;

  /// Continues `<path>.partial` of an interrupted run after its last complete line: an unterminated rest is cut off.
  /// `lines` receives the number of lines kept, 0 if there is no partial file.
  static OutputFile resume(const std::filesystem::path& path, std::uint64_t& lines);

  void write(std::string_view bytes);
  /// Hands everything written so far to the operating system.
  void flush();
  /// Flushes, syncs, and gives the file its name. Nothing may be written afterwards.
  void commit();
  const std::string& name() const noexcept;
  /// Where the bytes are until commit(): "<path>.partial", or the name itself for devices and standard output.
  const std::string& partial_name() const noexcept;

 private:
  struct Impl;
  explicit OutputFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The whole file (decompressed), at most `limit` bytes; a larger file is an Error that says so.
std::string read_file(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 32);

/// Writes through an OutputFile: the old content survives until the new one is complete on disk.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace dragoman::core
