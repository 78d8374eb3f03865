#include "opened_files.h"

#include <algorithm>
#include <iterator>
#include <regex>
#include <string_view>

namespace dragoman::testing {
namespace {

/// Alternatives of one regular expression.
constexpr const char* kPatterns[] = {
    // opens
    R"(\bf(re|d)?open\()",
    R"(std::[io]?fstream\b)",
    R"(std::(basic_)?filebuf\b)",
    R"((^|[^\w>])::(open(at)?|creat)\()",
    R"(\bmkos?temps?\()",
    R"(\btmpfile\()",
    // writes, copies or changes what a link leads to, or makes and replaces names
    R"(\b(filesystem|fs)::(copy|copy_file|rename|resize_file|permissions|create_(hard_link|(directory_)?symlink))\()",
    R"((^|[^\w>])::((f|l|fl)?chmod|(f|l)?chown|f?truncate|(sym)?link(at)?|rename(at2?)?)\()",
    R"(\bstd::rename\()",
    R"(\bwrite_named_file\()",
    R"(\bOutputFile>? +\w+ *[({;=])",
    R"(\bmake_(unique|shared)<(core::)?OutputFile>)",
};

/// Each opening contains one of these; to search for them first is several times as fast as the regular expression.
constexpr std::string_view kParts[] = {"open(", "fstream",  "filebuf",     "creat",     "temp",        "tmpfile",
                                       "copy",  "rename",   "resize_file", "link",      "permissions", "chmod",
                                       "chown", "truncate", "named_file",  "OutputFile"};

bool may_open(std::string_view line) {
  return std::ranges::any_of(kParts, [&](std::string_view part) { return line.find(part) != std::string_view::npos; });
}

const std::regex& opening() {
  static const std::regex all = [] {
    std::string text;
    for (const char* one : kPatterns) text += (text.empty() ? "" : "|") + std::string(one);
    return std::regex(text);
  }();
  return all;
}

}  // namespace

std::vector<Opening> openings_in(const std::string& path, std::istream& source) {
  std::vector<Opening> found;
  for (std::string line; std::getline(source, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos || line.compare(begin, 2, "//") == 0 || !may_open(line)) continue;
    const auto count = std::distance(std::sregex_iterator(line.begin(), line.end(), opening()), {});
    found.insert(found.end(), static_cast<std::size_t>(count), Opening{path, line.substr(begin)});
  }
  return found;
}

std::vector<std::string> compare_openings(const std::vector<Opening>& found,
                                          const std::vector<AllowedOpening>& allowed) {
  std::vector<std::string> wrong;
  std::vector<AllowedOpening> left = allowed;
  for (const Opening& one : found) {
    const auto reason = std::ranges::find_if(left, [&](const AllowedOpening& exception) {
      return exception.path == one.path && one.line.find(exception.part) != std::string::npos;
    });
    if (reason == left.end())
      wrong.push_back(one.path + ": " + one.line);
    else
      left.erase(reason);
  }
  for (const AllowedOpening& exception : left)
    wrong.push_back(exception.path + ": `" + exception.part + "` is not there any more (" + exception.reason + ")");
  return wrong;
}

}  // namespace dragoman::testing
