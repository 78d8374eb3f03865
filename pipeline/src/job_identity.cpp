#include "job_identity.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::pipeline {
namespace {

using core::Json;

/// Of built-in stages. Threads, batches and rows have no effect on results.
bool affects_lines(const std::string& stage, std::string_view option) {
  constexpr std::array<std::string_view, 3> kOfTranslate = {"threads", "batch_tokens", "rows"};
  constexpr std::array<std::string_view, 3> kOfFiles = {"path", "resume", "overwrite"};
  if (stage == "translate") return std::ranges::find(kOfTranslate, option) == kOfTranslate.end();
  if (stage == "read" || stage == "write") return std::ranges::find(kOfFiles, option) == kOfFiles.end();
  return true;
}

bool names_file(const std::string& stage, std::string_view option) {
  return (stage == "translate" && option == "model") ||
         ((stage == "encode" || stage == "decode") && option == "tokenizer");
}

}  // namespace

void JobIdentity::add_stage(const std::string& name, const Json& options) {
  Json& stages = identity_["stages"];
  const auto same = std::count(stages.begin(), stages.end(), Json(name));
  stages.push_back(name);
  const std::string label = same == 0 ? name : fmt::format("{} {}", name, same + 1);
  for (const auto& [option, value] : options.items()) {
    if (!affects_lines(name, option)) continue;
    const std::string key = fmt::format("{}.{}", label, option);
    if (!names_file(name, option) || !value.is_string())
      identity_[key] = value;
    else
      files_.push_back({key, value.get<std::string>()});
  }
}

std::string JobIdentity::text() const {
  Json identity = identity_;
  for (const File& file : files_) {
    if (!std::filesystem::is_directory(file.path)) {
      // A pipe has been read by its stage, and nobody would write to it again.
      const bool regular = std::filesystem::is_regular_file(file.path);
      identity[file.key] = regular ? formats::sha256_of_file(file.path) : "not a regular file";
      continue;
    }
    for (const char* part : formats::ModelFiles::kTranslating)
      if (std::filesystem::exists(file.path / part))
        identity[fmt::format("{}/{}", file.key, part)] = formats::sha256_of_file(file.path / part);
  }
  return core::one_line(identity);
}

}  // namespace dragoman::pipeline
