#include "dragoman/training/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <dragoman/core/file.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using core::ErrorCode;
using core::Json;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kPartial = ".partial";
constexpr int kFormatVersion = 1;

/// The update in "checkpoint-<update>", or -1.
std::int64_t update_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return -1;
  std::int64_t update = -1;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, update);
  return error == std::errc{} && stop == end && update >= 0 ? update : -1;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  core::require(!error, ErrorCode::kIo, "{}: cannot make the folder: {}", folder.string(), error.message());
}

void rename_path(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  core::require(!error, ErrorCode::kIo, "{}: cannot rename to {}: {}", from.string(), to.string(), error.message());
}

void remove_quietly(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

}  // namespace

Json to_json(const TrainingState& state) {
  return {
      {"format_version", kFormatVersion},
      {"update", state.update},
      {"epoch", state.epoch},
      {"batch", state.batch},
      {"validated", state.validated},
      {"metric_lines", state.metric_lines},
      {"window",
       {{"loss", state.window_loss}, {"negative_log_likelihood", state.window_nll}, {"tokens", state.window_tokens}}},
      {"early_stopping", state.early_stopping}};
}

TrainingState read_training_state(const Json& json, const std::string& where) {
  core::OptionReader options(json, where);
  const auto version = options.require_key<std::int64_t>("format_version");
  options.check(version == kFormatVersion, "format_version",
                fmt::format("is {}; this program reads checkpoints of version {}", version, kFormatVersion));
  TrainingState state;
  state.update = options.require_key<std::int64_t>("update");
  state.epoch = options.require_key<std::int64_t>("epoch");
  state.batch = options.require_key<std::int64_t>("batch");
  options.check(state.update >= 0 && state.epoch >= 0 && state.batch >= 0, "update",
                "and epoch and batch must not be negative");
  state.validated = options.require_key<std::int64_t>("validated");
  state.metric_lines = options.require_key<std::uint64_t>("metric_lines");
  core::OptionReader window = options.child("window");
  state.window_loss = window.require_key<double>("loss");
  state.window_nll = window.require_key<double>("negative_log_likelihood");
  state.window_tokens = window.require_key<std::int64_t>("tokens");
  window.finish();
  state.early_stopping = options.subtree("early_stopping");
  options.finish();
  return state;
}

CheckpointStore::CheckpointStore(fs::path folder) : folder_(std::move(folder)) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kPartial)) remove_quietly(entry.path());
  }
}

fs::path CheckpointStore::path(std::int64_t update) const {
  return folder_ / fmt::format("{}{}", kPrefix, update);
}

void CheckpointStore::save(std::int64_t update, const std::function<void(const fs::path&)>& write) const {
  const fs::path temporary = path(update).string() + std::string(kPartial);
  remove_quietly(temporary);
  try {
    make_folder(temporary);
    write(temporary);
    sync_folder(temporary);
    replace_folder(temporary, path(update));
  } catch (...) {
    remove_quietly(temporary);
    throw;
  }
}

std::vector<std::int64_t> CheckpointStore::updates() const {
  std::vector<std::int64_t> result;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    const std::int64_t update = update_of(entry.path().filename().string());
    if (update >= 0) result.push_back(update);
  }
  std::ranges::sort(result);
  return result;
}

void CheckpointStore::prune(std::int64_t keep, const std::set<std::int64_t>& keep_also) const {
  const std::vector<std::int64_t> all = updates();
  const auto newest = static_cast<std::size_t>(std::max<std::int64_t>(keep, 1));
  for (std::size_t i = 0; i + newest < all.size(); ++i)
    if (!keep_also.contains(all[i])) remove_quietly(path(all[i]));
}

void CheckpointStore::remove_after(std::int64_t update) const {
  for (const std::int64_t other : updates())
    if (other > update) remove_quietly(path(other));
}

void save_tensors(const fs::path& path, std::span<const NamedTensor> tensors) {
  std::vector<formats::TensorSpec> specs;
  for (const NamedTensor& item : tensors)
    specs.push_back({item.name, item.tensor.dtype, {item.tensor.rows, item.tensor.cols}});
  formats::SafetensorsWriter writer(path, std::move(specs));
  for (const NamedTensor& item : tensors) writer.write(item.tensor);
  writer.finish();
}

void load_tensors(const fs::path& path, std::span<const NamedTensor> tensors) {
  const formats::SafetensorsFile file = formats::SafetensorsFile::open(path);
  core::require(file.tensors().size() == tensors.size(), ErrorCode::kBadInput,
                "{}: holds {} tensors, but the configured model has {}; was the model changed?", path.string(),
                file.tensors().size(), tensors.size());
  for (const NamedTensor& item : tensors) {
    const formats::StoredTensor* stored = file.find(item.name);
    core::require(stored != nullptr, ErrorCode::kBadInput, "{}: has no tensor '{}'; was the model changed?",
                  path.string(), item.name);
    const std::vector<std::int64_t> shape{item.tensor.rows, item.tensor.cols};
    core::require(stored->shape == shape && stored->dtype == item.tensor.dtype, ErrorCode::kBadInput,
                  "{}: '{}' is {} {}, but the configured model has {} {}", path.string(), item.name, stored->type,
                  formats::describe_shape(stored->shape), tensor::name_of(item.tensor.dtype),
                  formats::describe_shape(shape));
    file.read(*stored, item.tensor);
  }
}

void sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  core::require(fd >= 0, ErrorCode::kIo, "{}: cannot open the folder: {}", folder.string(), std::strerror(errno));
  const int status = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  core::require(status == 0 || error == EINVAL || error == EROFS, ErrorCode::kIo, "{}: cannot sync to disk: {}",
                folder.string(), std::strerror(error));
}

void replace_folder(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    remove_quietly(from);
  } else {
    // No such folder yet, or a file system that cannot exchange two names.
    remove_quietly(to);
    rename_path(from, to);
  }
  sync_folder(to.parent_path().empty() ? fs::path(".") : to.parent_path());
}

}  // namespace dragoman::training
