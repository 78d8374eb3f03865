#include "job_identity.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>
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
    if (holds(content_options, option) && value.is_string() && value != "") {
      add_content(key, value.get<std::string>());
    } else if (holds(content_options, option) && value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i)
        if (value[i].is_string()) add_content(fmt::format("{}.{}", key, i + 1), value[i].get<std::string>());
    } else {
      identity_[key] = value;
    }
  }
}

void JobIdentity::add_content(const std::string& key, const std::filesystem::path& path) {
  if (!wanted_) return;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    for (const char* part : formats::ModelFiles::kTranslating)
      if (std::filesystem::exists(path / part, ignored))
        sums_.emplace_back(fmt::format("{}/{}", key, part), Sum(path / part));
  } else if (std::filesystem::is_regular_file(path, ignored)) {
    sums_.emplace_back(key, Sum(path));
  } else {
    // A pipe will be read by its stage, and nobody writes to it again.
    identity_[key] = "not a regular file";
  }
}

JobIdentity::Sum::Sum(const std::filesystem::path& file)
    : task_(std::make_shared<std::packaged_task<std::string()>>([file] { return formats::sha256_of_file(file); })),
      result_(task_->get_future()),
      thread_(core::try_start_thread([task = task_] { (*task)(); })) {}

std::string JobIdentity::Sum::get() {
  if (!thread_) (*task_)();
  return result_.get();
}

void JobIdentity::resolve(const std::string& option, const Json& value) {
  const std::string key = fmt::format("{}.{}", last_, option);
  identity_.erase(key);
  if (!value.is_null()) identity_[key] = value;
}

std::string JobIdentity::text() {
  for (auto& [key, sum] : sums_) identity_[key] = sum.get();
  sums_.clear();
  return core::one_line(identity_);
}

}  // namespace dragoman::pipeline
