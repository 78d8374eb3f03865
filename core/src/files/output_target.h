#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

namespace dragoman::core {

/// What a path given for output stands for, with the links that it may be resolved.
struct OutputTarget {
  enum class Kind {
    kDescriptor,  ///< an open descriptor of this process: /dev/stdout, /dev/fd/3, /proc/self/fd/3
    kDirect,      ///< a device, pipe or socket
    kFile,        ///< a regular file, or nothing yet
  };
  struct Owner {
    mode_t mode;
    uid_t user;
    gid_t group;
  };

  Kind kind = Kind::kFile;
  std::filesystem::path path;          ///< behind all links
  int descriptor = -1;                 ///< of kDescriptor
  bool named_pipe = false;             ///< of kDirect
  std::optional<Owner> existing = {};  ///< of a file that will be replaced
};

/// Error{kIo} for a folder, for a file that may not be written, and for links without end.
OutputTarget resolve_output(const std::filesystem::path& path);

}  // namespace dragoman::core
