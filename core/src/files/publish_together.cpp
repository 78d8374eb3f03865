#include "dragoman/core/publish_together.h"

#include "dragoman/core/error.h"

#include <sys/stat.h>

#include <string>
#include <vector>

#include <unistd.h>

namespace dragoman::core {
namespace {

/// The name that a file gets at its publication; empty for what is written directly.
std::string final_name(const OutputFile& file) {
  const std::string& partial = file.partial_name();
  return partial == file.name() ? std::string() : partial.substr(0, partial.size() - kPartialSuffix.size());
}

class Marks {
 public:
  Marks() = default;
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;
  ~Marks() {
    for (const std::string& mark : marks_) ::unlink(mark.c_str());
  }

  void add(const OutputFile& file) {
    const std::string name = final_name(file);
    struct stat status {};
    if (name.empty() || ::lstat(name.c_str(), &status) != 0) return;
    marks_.push_back(name + std::string(kSupersededSuffix));
    write_file(marks_.back(), name +
                                  " is older than the files that belong to it: an interrupted run replaced those "
                                  "first. What was to replace it is in " +
                                  file.partial_name() + ".\n");
  }
  /// Keeps the marks of files that are not replaced.
  void keep() { marks_.clear(); }

 private:
  std::vector<std::string> marks_;
};

}  // namespace

bool is_superseded(const std::string& file) noexcept {
  struct stat status {};
  return ::lstat((file + std::string(kSupersededSuffix)).c_str(), &status) == 0;
}

void publish_together(std::span<OutputFile* const> files) {
  Marks marks;
  if (files.empty()) return;
  for (const OutputFile* file : files.subspan(1)) marks.add(*file);
  files.front()->publish();
  marks.keep();
  for (OutputFile* const file : files.subspan(1)) file->publish();
}

}  // namespace dragoman::core
