#include "dragoman/core/publish_together.h"

#include "descriptor.h"
#include "dragoman/core/error.h"
#include "dragoman/core/json.h"
#include "superseded_mark.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace dragoman::core {
namespace {

constexpr std::string_view kMeaning = " is older than the files that belong to it";
constexpr const char* kFirst = "first";
constexpr const char* kFirstWas = "first_was";
constexpr const char* kBecomes = "becomes";

std::string mark_of(const std::string& file) {
  return file + std::string(kSupersededSuffix);
}

/// Returns the path of the file after its publication, or an empty string if it is written directly.
std::string final_name(const OutputFile& file) {
  const std::string& partial = file.partial_name();
  return partial == file.name() ? std::string() : partial.substr(0, partial.size() - kPartialSuffix.size());
}

/// Returns the properties in which a file and its replacement differ, or null if the file does not exist.
Json identity_of(const std::string& file) {
  struct stat status {};
  if (file.empty() || ::lstat(file.c_str(), &status) != 0) return nullptr;
  return {status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

Json inode_of(const std::string& file) {
  const Json identity = identity_of(file);
  return identity.is_null() ? identity : identity[0];
}

/// Returns the text of a mark, or an empty string if the file is not a mark.
std::string read_mark(const std::string& path) {
  constexpr std::size_t kLargest = 16384;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), true);
  const int error = errno;
  require(descriptor.get() >= 0, ErrorCode::kIo, "{}: cannot be read: {}", path, describe_error(error));
  std::array<char, kLargest> text;
  std::size_t size = 0;
  while (size < text.size()) {
    const std::size_t got = read_some(descriptor.get(), text.data() + size, text.size() - size, path);
    if (got == 0) break;
    size += got;
  }
  const std::string_view read(text.data(), size);
  return read.substr(0, read.find('\n')).find(kMeaning) == std::string_view::npos ? std::string() : std::string(read);
}

/// Returns whether a mark is valid. A mark is made before the first file of the set is replaced, and removed after its
/// own file is replaced. The process may end in between. The mark is therefore valid only while the first file is no
/// longer the old one and its own file is not yet the new one. In a copy of the folder, the inodes differ from the
/// recorded ones, so the mark is valid there.
bool holds(const std::string& file, const std::string& mark) {
  const std::size_t record = mark.find('\n');
  const Json json = record == std::string::npos ? Json() : try_parse_json(std::string_view(mark).substr(record)).tree;
  if (!json.is_object() || !json.contains(kFirst) || !json[kFirst].is_string() || !json.contains(kFirstWas) ||
      !json.contains(kBecomes))
    return true;  // written by an earlier version
  const auto& first = json[kFirst].get_ref<const std::string&>();
  const bool is_whole_and_old = !first.empty() && identity_of(first) == json[kFirstWas];
  const bool is_new = !json[kBecomes].is_null() && inode_of(file) == json[kBecomes];
  return !is_whole_and_old && !is_new;
}

class Marks {
 public:
  explicit Marks(const OutputFile& first) {
    const std::string name = final_name(first);
    if (name.empty()) return;
    std::error_code error;
    record_[kFirst] = std::filesystem::absolute(name, error).string();
    record_[kFirstWas] = identity_of(name);
  }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;
  /// Marks of files that are not replaced stay if the first file was replaced.
  ~Marks() {
    for (const std::string& name : names_) {
      try {
        remove_mark_without_meaning(name);
      } catch (...) {
        // Another error is being propagated. The mark has no effect, so it may stay.
      }
    }
  }

  void add(const OutputFile& file) {
    const std::string name = final_name(file);
    struct stat status {};
    if (name.empty() || ::lstat(name.c_str(), &status) != 0) return;
    record_[kBecomes] = inode_of(file.partial_name());
    names_.push_back(name);
    write_file(mark_of(name),
               fmt::format("{}{}: an interrupted run replaced those first. Its replacement is in {}.\n{}\n", name,
                           kMeaning, file.partial_name(), one_line(record_)));
  }

 private:
  Json record_{{kFirst, ""}, {kFirstWas, nullptr}, {kBecomes, nullptr}};
  std::vector<std::string> names_;
};

}  // namespace

bool is_superseded(const std::string& file) {
  const std::string mark = read_mark(mark_of(file));
  return !mark.empty() && holds(file, mark);
}

void remove_mark(const std::string& file) {
  const std::string mark = mark_of(file);
  if (read_mark(mark).empty()) return;
  const int error = ::unlink(mark.c_str()) == 0 ? 0 : errno;
  require(error == 0 || error == ENOENT, ErrorCode::kIo, "{}: cannot be removed: {}; remove it, since {} is complete",
          mark, describe_error(error), file);
}

void remove_mark_without_meaning(const std::string& file) {
  if (!is_superseded(file)) remove_mark(file);
}

void require_places_for_marks(std::span<OutputFile* const> files) {
  if (files.empty()) return;
  for (const OutputFile* const file : files.subspan(1)) {
    const std::string name = final_name(*file);
    if (name.empty()) continue;
    struct stat status {};
    const std::string mark = mark_of(name);
    require(::lstat(mark.c_str(), &status) != 0 || !read_mark(mark).empty(), ErrorCode::kIo,
            "{}: is in the way: a file of this name marks {} while that is replaced; rename it, or name another output",
            mark, name);
  }
}

void publish_together(std::span<OutputFile* const> files) {
  if (files.empty()) return;
  require_places_for_marks(files);
  Marks marks(*files.front());
  for (const OutputFile* file : files.subspan(1)) marks.add(*file);
  for (OutputFile* const file : files) file->publish();
}

void write_together(std::span<const FileContent> files) {
  std::vector<std::unique_ptr<OutputFile>> outputs;
  std::vector<OutputFile*> all;
  for (const FileContent& file : files) {
    outputs.push_back(std::make_unique<OutputFile>(file.path, OutputOptions{.partial = PartialPolicy::kTemporary}));
    all.push_back(outputs.back().get());
  }
  for (std::size_t i = 0; i < files.size(); ++i) outputs[i]->write(files[i].content);
  for (OutputFile* const output : all) output->complete();
  publish_together(all);
}

}  // namespace dragoman::core
