#include "job_identity.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::pipeline {
namespace {

using core::Json;

bool holds(const std::vector<std::string>& options, const std::string& option) {
  return std::ranges::find(options, option) != options.end();
}

}  // namespace

void JobIdentity::add_stage(const std::string& name, const Json& options,
                            const std::vector<std::string>& content_options,
                            const std::vector<std::string>& idle_options) {
  Json& stages = identity_["stages"];
  const auto same = std::count(stages.begin(), stages.end(), Json(name));
  stages.push_back(name);
  const std::string label = last_ = same == 0 ? name : fmt::format("{} {}", name, same + 1);
  for (const auto& [option, value] : options.items()) {
    if (holds(idle_options, option)) continue;
    const std::string key = fmt::format("{}.{}", label, option);
    if (!holds(content_options, option) || !value.is_string() || value.get_ref<const std::string&>().empty())
      identity_[key] = value;
    else
      files_.push_back({key, value.get<std::string>()});
  }
}

void JobIdentity::resolve(const std::string& option, const Json& value) {
  const std::string key = fmt::format("{}.{}", last_, option);
  identity_.erase(key);
  if (!value.is_null()) identity_[key] = value;
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
