#include "dragoman/pipeline/unknown_dictionary.h"

#include "dragoman/pipeline/line_policy.h"

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/white_space.h>

namespace dragoman::pipeline {

UnknownDictionary UnknownDictionary::read(const std::filesystem::path& path) {
  UnknownDictionary dictionary;
  core::LineReader lines(path);
  for (std::string line; lines.next(line);) {
    clean_line(line);
    if (core::is_blank(line)) continue;
    const std::size_t tab = line.find('\t');
    if (tab == line.npos || tab == 0 || line.find('\t', tab + 1) != line.npos)
      core::fail(core::ErrorCode::kBadInput, "{}: line {} must hold a source word, a tab, and what stands for it",
                 lines.name(), lines.line_number());
    dictionary.words_.try_emplace(line.substr(0, tab), line.substr(tab + 1));
  }
  return dictionary;
}

std::string_view UnknownDictionary::look_up(std::string_view word) const {
  const auto found = words_.find(word);
  return found == words_.end() ? word : found->second;
}

}  // namespace dragoman::pipeline
