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

/// Reads a file sequentially, or standard input for "-". Detects gzip and Zstandard by the first bytes, not by the
/// name.
///
///     InputFile input("corpus.de.gz");
///     std::array<char, 4096> buffer;
///     std::uint64_t total = 0;
///     while (const std::size_t bytes = input.read(buffer)) total += bytes;
///
/// Pipes and terminals may stay silent for ever. A stop request ends waiting for them, and for the first writer of a
/// named pipe, with Error{kInterrupted}. Regular files never wait, so their readers check the token themselves, at a
/// point where they can keep a partial result.
///
/// Errors: every failure throws Error{kIo or kBadInput} that names the file. A `.partial` file that an OutputFile is
/// writing is refused. An object may be used by one thread at a time.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path, std::stop_token stop = {});
  ~InputFile();
  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;

  /// Fills `buffer` as far as the input goes. Returns the number of bytes, which is 0 only at the end.
  std::size_t read(std::span<char> buffer);
  /// Returns the path, or "standard input", for messages.
  const std::string& name() const noexcept;
  /// Returns the size on disk in bytes, or 0 if it is unknown (pipes).
  std::uint64_t size_on_disk() const noexcept;
  /// Returns the number of bytes of size_on_disk() read so far, before decompression.
  std::uint64_t bytes_from_disk() const noexcept;
  bool is_compressed() const noexcept;
  bool is_regular() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Sets the token for readers and writers that are given none, such as the readers of tokenizers and configurations,
/// whose files may be pipes. An interrupted program then ends every wait. Only the program itself may call this, before
/// it opens the first file. Without the call, these readers and writers wait without limit.
void set_default_stop(std::stop_token stop);

/// Reads lines. A line ends at LF, which is not part of it. An unterminated last line counts as a line. A CR is kept.
///
///     LineReader lines("corpus.de.gz");
///     for (std::string line; lines.next(line);) std::cout << lines.line_number() << ": " << line << '\n';
///
/// Errors, waiting and threads are as for InputFile.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path, std::stop_token stop = {})
      : LineReader(InputFile(path, std::move(stop))) {}
  explicit LineReader(InputFile file);

  /// Stores the next line in `line` and returns true, or returns false at the end. Skips a byte order mark before the
  /// first line. `line` keeps its capacity. A line over 1 GiB throws Error{kBadInput}: no text has one, but devices do.
  bool next(std::string& line);
  /// Returns the number of lines read so far, which is the number (from 1) of the line that next() stored last.
  std::uint64_t line_number() const noexcept { return line_number_; }
  /// Returns the number of bytes consumed so far, after decompression.
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }
  const std::string& name() const noexcept { return file_.name(); }
  std::uint64_t size_on_disk() const noexcept { return file_.size_on_disk(); }
  /// Returns the number of bytes of size_on_disk() that the lines so far took. For a compressed file, it is the number
  /// of bytes read from disk to get them, which is larger.
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

/// Returns whether both paths lead to the same file, or would if it existed. "-" is not a file.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// The suffix of a file or folder that is not complete yet.
inline constexpr std::string_view kPartialSuffix = ".partial";

/// The suffix, after kPartialSuffix, of the file that stores the identity of the job (OutputOptions::identity).
inline constexpr std::string_view kJobSuffix = ".job";

/// Specifies how an OutputFile treats the `<path>.partial` that an interrupted run left.
enum class PartialPolicy : std::uint8_t {
  kReplace,    ///< rewritten from the start at the first write; kept if the new content is not committed
  kRefuse,     ///< Error{kInvalidArgument} that names the options `resume` and `overwrite`, unless the file is empty
  kResume,     ///< continued after its last complete line; started from scratch if there is none
  kTemporary,  ///< rewritten from the start, and removed if it is not committed: half of it is useless
};

/// The options of an OutputFile.
struct OutputOptions {
  PartialPolicy partial = PartialPolicy::kReplace;
  /// Identifies the job (input, model, options) in one line, preferably a JSON object. It is stored in
  /// `<path>.partial.job`, next to the partial file. kResume refuses the partial file of another job and names the keys
  /// that differ. If empty, nothing is stored or compared.
  std::string identity = {};
  /// Returns how many lines of the partial file belong to this job according to its notes. kResume drops the lines
  /// after them. It is called with several prefixes of the notes, and a longer prefix must never give fewer lines. If
  /// it is not set, all complete lines are kept.
  using Vouched = std::function<std::uint64_t(const std::vector<std::string>& notes)>;
  Vouched vouched = {};
  /// Ends the wait for a pipe that nobody reads.
  std::stop_token stop = {};
};

/// Writes a file sequentially, or standard output for "-".
///
///     OutputFile output("translations.txt");
///     output.write("Guten Morgen!\n");
///     output.commit();                        // until here, the file is translations.txt.partial
///
/// A regular file is written as `<path>.partial`. If the path is a link, the partial file is next to the link's target.
/// commit() gives it its final name, so a reader never sees half a file. The permissions of an existing file are kept.
/// Devices, pipes and open descriptors (/dev/stdout, /dev/fd/3) are written directly. Without commit() the partial file
/// stays, so that no written data is lost; a partial file without data is removed.
///
/// The partial file belongs to one writer at a time. It is locked, it is never opened through a link, and it is
/// untouched until the first write. A command that has the partial file as its input can therefore detect this before
/// it is lost.
///
/// If the name ends in .gz or .zst, the output is compressed in independent members of whole lines (RFC 1952, section
/// 2.2; RFC 8878, section 3.1). An interrupted file can therefore be read up to its last complete member, and resumed.
///
/// Errors: a failed write (full disk) throws Error{kIo} that names the file. Error{kClosedPipe} reports that the reader
/// has closed the pipe. An object may be used by one thread at a time.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path, const OutputOptions& options = {});
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;

  void write(std::string_view bytes);
  /// Passes everything written so far to the operating system. A compressed file withholds the last few seconds.
  void flush();
  /// Calls complete() and publish(). Nothing may be written afterwards.
  void commit();
  /// Flushes and syncs: the first half of commit(). A full disk shows here. Files that belong together are all
  /// completed before the first one is published. Nothing may be written afterwards.
  void complete();
  /// Gives the file its final name and syncs the folder: the second half of commit(), after complete().
  void publish();

  /// Returns the number of complete lines that kResume found and kept.
  std::uint64_t lines_kept() const noexcept;
  /// Returns the lines that note() had added before the interruption, with kResume.
  const std::vector<std::string>& notes() const noexcept;
  /// Appends a line about the job's progress to `<path>.partial.job`, if that file exists. The last note may be lost
  /// with the process; earlier notes are kept.
  void note(std::string_view line);

  const std::string& name() const noexcept;
  /// Returns the path that holds the bytes until commit(): "<path>.partial", or the name itself if it is written
  /// directly.
  const std::string& partial_name() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns the content of a file, decompressed. A file of more than `limit` bytes is an Error.
std::string read_file(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 32,
                      const std::stop_token& stop = {});
/// Like read_file(), for files that must be regular, such as the parts of a model. A pipe or a device, which might
/// never end, throws Error{kIo}.
std::string read_regular_file(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 32);
/// Returns the first `count` bytes of a regular file without decompression, or fewer if it is shorter. Used to detect
/// the kind of a file. Throws Error{kIo}.
std::string read_beginning(const std::filesystem::path& path, std::size_t count);

/// Writes a file through an OutputFile. The old content survives until the new content is complete on disk.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace dragoman::core
