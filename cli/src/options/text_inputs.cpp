#include "options/text_inputs.h"

#include "program/command.h"

#include <sys/stat.h>

#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::cli {
namespace {

class Matches {
 public:
  explicit Matches(const std::string& pattern) : status_(::glob(pattern.c_str(), GLOB_ERR, nullptr, &found_)) {}
  Matches(const Matches&) = delete;
  Matches& operator=(const Matches&) = delete;
  ~Matches() { ::globfree(&found_); }

  int status() const { return status_; }
  void append_to(std::vector<std::filesystem::path>& files) const {
    files.insert(files.end(), found_.gl_pathv, found_.gl_pathv + found_.gl_pathc);
  }

 private:
  glob_t found_{};
  int status_;
};

bool is_pattern(const std::string& value) {
  std::error_code ignored;
  return value.find_first_of("*?[") != std::string::npos && !std::filesystem::exists(value, ignored);
}

void append_matches(const std::string& pattern, std::vector<std::filesystem::path>& files) {
  const std::filesystem::path folder = std::filesystem::path(pattern).parent_path();
  std::error_code ignored;
  core::require(folder.empty() || is_pattern(folder.string()) || std::filesystem::exists(folder, ignored),
                core::ErrorCode::kIo, "{}: there is no folder {}", pattern, folder.string());
  const Matches matches(pattern);
  core::require(matches.status() != GLOB_NOMATCH, core::ErrorCode::kIo,
                "{}: no file matches this pattern; check the folder and the ending", pattern);
  core::require(matches.status() == 0, core::ErrorCode::kIo,
                "{}: cannot list the files that match: a folder cannot be read; check its permissions", pattern);
  matches.append_to(files);
}

}  // namespace

std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& values) {
  std::vector<std::filesystem::path> files;
  for (const std::string& value : values) {
    if (is_pattern(value))
      append_matches(value, files);
    else
      files.emplace_back(value);
  }
  return files;
}

bool standard_input_is_piped() {
  struct stat status {};
  return ::fstat(STDIN_FILENO, &status) == 0 &&
         (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISREG(status.st_mode));
}

void refuse_taken_files(const std::string& option, const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(words[i], ignored)) continue;
    throw UsageError(fmt::format(
        "{}: {} is a file, and the option takes all words up to the next option; put input files in front of it, or "
        "after --input (where it is no file that you mean, make it the first word of {})",
        option, core::quote(words[i]), option));
  }
}

}  // namespace dragoman::cli
