#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

namespace dragoman::core {

/// The target of an output path, with the links resolved as far as they may be.
struct OutputTarget {
  enum class Kind {
    kDescriptor,  ///< an open descriptor of this process: /dev/stdout, /dev/fd/3, /proc/self/fd/3
    kDirect,      ///< a device, pipe or socket
    kFile,        ///< a regular file, or one that does not exist yet
  };
  struct Owner {
    mode_t mode;
    uid_t user;
    gid_t group;
  };

  Kind kind = Kind::kFile;
  std::filesystem::path path;          ///< with all links resolved
  int descriptor = -1;                 ///< for kDescriptor
  bool named_pipe = false;             ///< for kDirect
  std::optional<Owner> existing = {};  ///< of the file that will be replaced
};

/// Throws Error{kIo} for a folder, for a file without write permission, and for a cycle of links.
OutputTarget resolve_output(const std::filesystem::path& path);

}  // namespace dragoman::core
