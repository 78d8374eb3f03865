#include "dragoman/pipeline/job_identity.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

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

/// The checksum of a file, or the reason why there is none. A thread computes it, or the caller if no thread can be
/// started.
class Sum {
 public:
  explicit Sum(const std::filesystem::path& file)
      : task_(std::make_shared<std::packaged_task<std::string()>>([file] { return formats::sha256_of_file(file); })),
        result_(task_->get_future()),
        thread_(core::try_start_thread([task = task_] { (*task)(); })) {}
  std::string get() {
    if (!thread_) (*task_)();
    return result_.get();
  }

 private:
  std::shared_ptr<std::packaged_task<std::string()>> task_;
  std::future<std::string> result_;
  std::optional<std::jthread> thread_;
};

}  // namespace

struct JobIdentity::Impl {
  void add_content(const std::string& key, const std::filesystem::path& path);

  bool wanted = false;
  Json identity = Json::object();
  std::string last{};
  std::vector<std::pair<std::string, Sum>> sums{};
};

JobIdentity::JobIdentity(bool wanted) : impl_(std::make_unique<Impl>()) {
  impl_->wanted = wanted;
}
JobIdentity::~JobIdentity() = default;
JobIdentity::JobIdentity(JobIdentity&&) noexcept = default;
JobIdentity& JobIdentity::operator=(JobIdentity&&) noexcept = default;

void JobIdentity::add_stage(const std::string& name, const Json& options,
                            const std::vector<std::string>& input_file_options,
                            const std::vector<std::string>& non_semantic_options) {
  Json& stages = impl_->identity["stages"];
  const auto same = std::count(stages.begin(), stages.end(), Json(name));
  stages.push_back(name);
  const std::string label = impl_->last = same == 0 ? name : fmt::format("{} {}", name, same + 1);
  for (const auto& [option, value] : options.items()) {
    if (holds(non_semantic_options, option)) continue;
    const std::string key = fmt::format("{}.{}", label, option);
    if (holds(input_file_options, option) && value.is_string() && value != "") {
      impl_->add_content(key, value.get<std::string>());
    } else if (holds(input_file_options, option) && value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i)
        if (value[i].is_string()) impl_->add_content(fmt::format("{}.{}", key, i + 1), value[i].get<std::string>());
    } else {
      impl_->identity[key] = value;
    }
  }
}

void JobIdentity::Impl::add_content(const std::string& key, const std::filesystem::path& path) {
  if (!wanted) return;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    for (const char* part : formats::ModelFiles::kTranslating)
      if (std::filesystem::exists(path / part, ignored))
        sums.emplace_back(fmt::format("{}/{}", key, part), Sum(path / part));
  } else if (std::filesystem::is_regular_file(path, ignored)) {
    sums.emplace_back(key, Sum(path));
  } else {
    // The stage reads a pipe, and its content cannot be read twice.
    identity[key] = "not a regular file";
  }
}

void JobIdentity::resolve(const std::string& option, const Json& value) {
  const std::string key = fmt::format("{}.{}", impl_->last, option);
  impl_->identity.erase(key);
  if (!value.is_null()) impl_->identity[key] = value;
}

std::string JobIdentity::text() {
  for (auto& [key, sum] : impl_->sums) impl_->identity[key] = sum.get();
  impl_->sums.clear();
  return core::one_line(impl_->identity);
}

}  // namespace dragoman::pipeline
