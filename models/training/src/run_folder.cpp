#include "run_folder.h"

#include "run_setup.h"

#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/training/checkpoint.h>

namespace dragoman::training {

namespace fs = std::filesystem;
using core::ErrorCode;
using core::Json;

RunFolder::RunFolder(fs::path path, StartMode mode) : path_(std::move(path)) {
  std::error_code ignored;
  const bool exists = fs::exists(path_, ignored);
  core::require(mode == StartMode::kFresh || exists, ErrorCode::kInvalidArgument,
                "{}: there is no such folder, and so no checkpoint to resume from; start without --resume",
                path_.string());
  lock_ = core::lock_folder(path_);
  made_ = !exists;
  const CheckpointStore store(path_);
  store.clear_leftovers();
  const bool trained = !store.updates().empty();
  core::require(mode != StartMode::kFresh || !trained, ErrorCode::kInvalidArgument,
                "{}: holds a training run already; continue it with --resume, or name another folder as output",
                path_.string());
  core::require(mode == StartMode::kFresh || trained, ErrorCode::kInvalidArgument,
                "{}: holds no checkpoint to resume from; start without --resume", path_.string());
  if (mode != StartMode::kFresh) record_ = read_run_record(file("run.json"));
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (made_) fs::remove(path_, ignored);  // refused by the system unless it is empty
}

std::string RunFolder::recorded_sum(std::string_view name) const {
  if (!record_.is_object() || !record_.contains("sha256")) return {};
  return record_["sha256"].value(std::string(name), std::string());
}

}  // namespace dragoman::training
