#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace dragoman::core {

/// Appends to a file of the program's own, such as a log. Each text is passed to the operating system at once, so other
/// programs can read it.
///
///     AppendFile log("run/metrics.jsonl", AppendFile::Start::kExisting);
///     log.append("{\"update\": 1}\n");
///
/// Nothing is written through a link, and opening never waits. A pipe, a device, or a file with another name (a hard
/// link) is refused. The file stays open, so a file that takes its name later is not written.
///
/// Errors: every failure throws Error{kIo} that names the file. An object may be used by one thread at a time.
class AppendFile {
 public:
  enum class Start : std::uint8_t {
    kNew,       ///< creates the file, which must not exist
    kExisting,  ///< continues an existing file
  };
  AppendFile(const std::filesystem::path& path, Start start);
  ~AppendFile();
  AppendFile(AppendFile&&) noexcept;
  AppendFile& operator=(AppendFile&&) noexcept;

  void append(std::string_view bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::core
