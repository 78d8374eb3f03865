#include "start/run_folder.h"

#include "run/checkpoint.h"
#include "start/run_setup.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::training {

namespace fs = std::filesystem;
using core::ErrorCode;
using core::Json;

namespace {

/// Returns whether training writes, replaces or removes something with this name in its folder.
bool is_written(std::string name) {
  for (const std::string_view suffix : {core::kPartialSuffix, core::kReplacedSuffix})
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  const auto is_one_of = [&](const auto& names) {
    return std::ranges::find(names, std::string_view(name)) != names.end();
  };
  if (is_one_of(RunFiles::kAll) || is_one_of(formats::ModelFiles::kTokenizers) ||
      name.starts_with(RunFiles::kCheckpointPrefix))
    return true;
  const std::string_view suffix = RunFiles::kAdapterSuffix;
  if (!name.ends_with(suffix)) return false;
  name.resize(name.size() - suffix.size());
  return is_one_of(RunFiles::kModels);
}

}  // namespace

RunFolder::Identity RunFolder::identity_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? Identity{status.st_dev, status.st_ino} : Identity{};
}

void RunFolder::require_still_there() const {
  core::require(identity_of(path_) == identity_, ErrorCode::kIo,
                "{}: is not the folder any more that this run began with: it was removed, renamed or replaced; nothing "
                "more is written",
                path_.string());
}

RunFolder::RunFolder(fs::path path, StartMode mode, bool owns) : path_(std::move(path)) {
  std::error_code ignored;
  const bool exists = fs::exists(path_, ignored);
  core::require(mode == StartMode::kFresh || exists || owns, ErrorCode::kInvalidArgument,
                "{}: there is no such folder here; to resume, every process must see the run's folder", path_.string());
  core::require_option(mode == StartMode::kFresh || exists, "resume", ErrorCode::kInvalidArgument,
                       "{}: there is no such folder, and so no checkpoint to resume from; start without `resume`",
                       path_.string());
  if (owns) take(mode, exists);
  if (mode != StartMode::kFresh) record_ = read_run_record(file(RunFiles::kRecord));
}

void RunFolder::take(StartMode mode, bool exists) {
  lock_ = core::lock_folder(path_);
  identity_ = identity_of(path_);
  made_ = !exists;
  require_no_links();
  if (mode == StartMode::kFresh) require_room();
  const CheckpointStore store(path_);
  store.clear_leftovers();
  const bool trained = !store.updates().empty();
  core::require_option(mode != StartMode::kFresh || !trained, "resume", ErrorCode::kInvalidArgument,
                       "{}: holds a training run already; continue it with `resume`, or name another folder as output",
                       path_.string());
  core::require_option(mode == StartMode::kFresh || trained, "resume", ErrorCode::kInvalidArgument,
                       "{}: holds no checkpoint to resume from; start without `resume`", path_.string());
}

/// A file behind a link is elsewhere, and does not belong to the run.
void RunFolder::require_no_links() const {
  for (const fs::path& entry : core::list_folder(path_)) {
    std::error_code ignored;
    if (!is_written(entry.filename().string())) continue;
    core::require(!fs::is_symlink(entry, ignored), ErrorCode::kIo,
                  "{}: is a link where training writes; remove it, or name another folder", entry.string());
    core::require(!fs::is_other(entry, ignored), ErrorCode::kIo,
                  "{}: is a pipe or a device where training writes; remove it, or name another folder", entry.string());
  }
}

/// A run that ended before its first checkpoint may start again. Anything that is not a run is not overwritten.
void RunFolder::require_room() const {
  std::error_code ignored;
  if (fs::exists(file(RunFiles::kRecord), ignored)) return;
  using Model = formats::ModelFiles;
  const auto require_none = [&](const fs::path& name) {
    core::require(!fs::exists(path_ / name, ignored), ErrorCode::kInvalidArgument,
                  "{}: holds {}, which is not of a training run; name another folder as output", path_.string(),
                  name.string());
  };
  for (const char* name : {Model::kConfig, Model::kWeights, RunFiles::kMetrics}) require_none(name);
  for (const char* model : {RunFiles::kBest, RunFiles::kLast, RunFiles::kAverage, RunFiles::kBase})
    require_none(fs::path(model) / Model::kConfig);
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (made_) fs::remove(path_, ignored);  // fails unless the folder is empty
}

bool RunFolder::holds_model(std::string_view name) const {
  std::error_code ignored;
  return fs::exists(file(name) / formats::ModelFiles::kWeights, ignored);
}

std::string RunFolder::recorded_sum(std::string_view name) const {
  if (!record_.is_object() || !record_.contains("sha256")) return {};
  return record_["sha256"].value(std::string(name), std::string());
}

}  // namespace dragoman::training
