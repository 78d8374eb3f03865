#include "run/checkpoint.h"

#include "configuration/config_tables.h"

#include <algorithm>
#include <bit>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/format_version.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/tensor/host_view.h>
#include <dragoman/training/run_files.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using core::ErrorCode;
using core::Json;

constexpr std::string_view kPrefix = RunFiles::kCheckpointPrefix;
/// The version whose checkpoints have no SHA256SUMS.
constexpr int kWithoutSums = 1;
constexpr std::int64_t kLargestCount = std::int64_t{1} << 56;
constexpr std::size_t kMaxStates = 16;
constexpr std::uint64_t kLargestState = std::uint64_t{16} << 20;
/// The files that loading needs in addition to the optimiser's.
constexpr const char* kNeeded[] = {RunFiles::kState, formats::ModelFiles::kWeights};

bool is_present(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Renames the folder first: a folder with the final name is complete even if the process is killed meanwhile.
void discard(const fs::path& checkpoint) {
  const fs::path nameless = checkpoint.string() + std::string(core::kPartialSuffix);
  std::error_code error;
  fs::rename(checkpoint, nameless, error);
  core::remove_folder(error ? checkpoint : nameless);
}

void require_listed(const std::vector<std::string>& names, std::string_view needed, const fs::path& checkpoint) {
  core::require(std::ranges::find(names, needed) != names.end(), ErrorCode::kBadInput,
                "{}: does not list {}; the checkpoint is damaged", (checkpoint / "SHA256SUMS").string(), needed);
}

void require_present(std::string_view name, const fs::path& checkpoint) {
  core::require(is_present(checkpoint / name), ErrorCode::kBadInput, "{}: is missing", (checkpoint / name).string());
}

/// Reads {window: N, begin: BATCH}.
void read_window(core::OptionReader options, TrainingState& state) {
  state.window = options.require_key<std::int64_t>("window");
  options.check(state.window >= 0 && state.window <= kMany, "window", fmt::format("must lie in 0 .. {}", kMany));
  state.window_begin = options.require_key<std::int64_t>("begin");
  options.check(state.window_begin >= 0 && state.window_begin <= state.batch, "begin", "must lie in 0 .. batch");
  options.finish();
}

/// Reads {value: N, updates: N}.
void read_loss_scale(core::OptionReader options, TrainingState& state) {
  state.loss_scale = options.require_key<std::int64_t>("value");
  options.check(state.loss_scale > 0 && state.loss_scale <= kLargestCount &&
                    std::has_single_bit(static_cast<std::uint64_t>(state.loss_scale)),
                "value", fmt::format("must be a power of two up to {}", kLargestCount));
  state.loss_scale_updates = options.require_key<std::int64_t>("updates");
  options.check(state.loss_scale_updates >= 0 && state.loss_scale_updates <= state.update, "updates",
                "must lie in 0 .. update");
  options.finish();
}

/// Reads {type: NAME, states: [NAME, ...], begun_after: N}.
void read_optimizer(core::OptionReader options, TrainingState& state) {
  state.optimizer = options.require_key<std::string>("type");
  state.optimizer_begun_after = options.require_key<std::int64_t>("begun_after");
  options.check(state.optimizer_begun_after >= 0 && state.optimizer_begun_after <= state.update, "begun_after",
                "must lie in 0 .. update");
  const Json& states = options.subtree("states");
  options.check(states.is_array() && states.size() <= kMaxStates, "states", "must be a list of names");
  state.optimizer_states.clear();
  for (const Json& name : states) {
    const bool plain = name.is_string() && name.get_ref<const std::string&>().find_first_not_of(
                                               "abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
    options.check(plain && name != "", "states", "must hold names of lower-case letters");
    state.optimizer_states.push_back(name.get<std::string>());
  }
  options.finish();
}

}  // namespace

Json to_json(const TrainingState& state) {
  Json json = {
      {"format_version", RunFiles::kStateVersion},
      {"update", state.update},
      {"epoch", state.epoch},
      {"batch", state.batch},
      {"blocks", {{"window", state.window}, {"begin", state.window_begin}}},
      {"validated", state.validated},
      {"metric_lines", state.metric_lines},
      {"window",
       {{"loss", state.window_loss},
        {"negative_log_likelihood", state.window_nll},
        {"alignment", state.window_alignment},
        {"tokens", state.window_tokens}}},
      {"early_stopping", state.early_stopping},
      {"plateau", state.plateau},
      {"non_finite", state.non_finite},
      {"restored", state.restored},
      {"optimizer",
       {{"type", state.optimizer}, {"states", state.optimizer_states}, {"begun_after", state.optimizer_begun_after}}}};
  if (state.loss_scale > 0) json["loss_scale"] = {{"value", state.loss_scale}, {"updates", state.loss_scale_updates}};
  return json;
}

TrainingState read_training_state(const Json& json, const std::string& where) {
  core::OptionReader options(json, where);
  options.require_key<std::int64_t>("format_version");
  core::require_known_version(json, RunFiles::kStateVersion, where);
  TrainingState state;
  state.update = options.require_key<std::int64_t>("update");
  state.epoch = options.require_key<std::int64_t>("epoch");
  state.batch = options.require_key<std::int64_t>("batch");
  for (const std::int64_t count : {state.update, state.epoch, state.batch})
    options.check(count >= 0 && count <= kMany, "update",
                  fmt::format("and epoch and batch must lie in 0 .. {}", kMany));
  if (options.has("blocks")) read_window(options.child("blocks"), state);
  state.validated = options.require_key<std::int64_t>("validated");
  options.check(state.validated >= -1 && state.validated <= state.update, "validated", "must lie in -1 .. update");
  state.metric_lines = options.require_key<std::uint64_t>("metric_lines");
  core::OptionReader window = options.child("window");
  state.window_loss = window.require_key<double>("loss");
  state.window_nll = window.require_key<double>("negative_log_likelihood");
  state.window_alignment = window.get("alignment", 0.0);
  state.window_tokens = window.require_key<std::int64_t>("tokens");
  window.check(state.window_tokens >= 0 && state.window_tokens <= kLargestCount, "tokens",
               fmt::format("must lie in 0 .. {}", kLargestCount));
  window.finish();
  state.early_stopping = options.subtree("early_stopping");
  if (options.has("plateau")) state.plateau = options.subtree("plateau");
  state.non_finite = options.get<std::int64_t>("non_finite", 0);
  options.check(state.non_finite >= 0 && state.non_finite <= kMany, "non_finite",
                fmt::format("must lie in 0 .. {}", kMany));
  state.restored = options.get<std::int64_t>("restored", -1);
  options.check(state.restored >= -1 && state.restored <= state.update, "restored", "must lie in -1 .. update");
  if (options.has("loss_scale")) read_loss_scale(options.child("loss_scale"), state);
  if (options.has("optimizer")) read_optimizer(options.child("optimizer"), state);
  options.finish();
  return state;
}

TrainingState open_checkpoint(const fs::path& checkpoint) {
  const bool has_sums = is_present(checkpoint / "SHA256SUMS");
  std::vector<std::string> listed;
  if (has_sums) listed = formats::verify_checksums(checkpoint, formats::UnlistedFiles::kAllow);
  const auto require_file = [&](const std::string& name) {
    if (has_sums) require_listed(listed, name, checkpoint);
    require_present(name, checkpoint);
  };
  for (const char* name : kNeeded) require_file(name);
  const fs::path file = checkpoint / RunFiles::kState;
  const Json json = core::parse_json(core::read_regular_file(file, kLargestState), file.string());
  const TrainingState state = read_training_state(json, file.string());
  for (const std::string& name : state.optimizer_states) require_file(name + ".safetensors");
  if (!has_sums && json["format_version"] != kWithoutSums) require_present("SHA256SUMS", checkpoint);
  return state;
}

void CheckpointStore::clear_leftovers() const {
  for (const fs::path& path : core::list_folder(folder_)) {
    const std::string name = path.filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(core::kPartialSuffix)) core::remove_folder(path);
    if (!name.ends_with(core::kReplacedSuffix)) continue;
    const std::int64_t update = RunFiles::update_of(name.substr(0, name.size() - core::kReplacedSuffix.size()));
    if (update >= 0) core::recover_replaced(this->path(update));
  }
}

fs::path CheckpointStore::path(std::int64_t update) const {
  return folder_ / fmt::format("{}{}", kPrefix, update);
}

void CheckpointStore::save(std::int64_t update, const std::function<void(const fs::path&)>& write) const {
  core::StagedFolder staged(path(update));
  write(staged.folder());
  formats::write_checksums(staged.folder());
  staged.commit();
}

std::vector<std::int64_t> CheckpointStore::updates() const {
  std::vector<std::int64_t> result;
  for (const fs::path& entry : core::list_folder(folder_)) {
    const std::int64_t update = RunFiles::update_of(entry.filename().string());
    if (update >= 0) result.push_back(update);
  }
  std::ranges::sort(result);
  return result;
}

TrainingState CheckpointStore::open(std::int64_t update) const {
  TrainingState state = open_checkpoint(path(update));
  core::require(state.update == update, ErrorCode::kBadInput,
                "{}: update is {}, but the folder's name says {}; the folder was copied or renamed",
                (path(update) / RunFiles::kState).string(), state.update, update);
  return state;
}

void CheckpointStore::prune(std::int64_t saved, std::int64_t keep, const std::set<std::int64_t>& keep_also) const {
  std::vector<std::int64_t> all = updates();
  // This run has not written later ones, so they must not count as its newest.
  std::erase_if(all, [&](std::int64_t update) { return update > saved; });
  const auto newest = static_cast<std::size_t>(std::max<std::int64_t>(keep, 1));
  for (std::size_t i = 0; i + newest < all.size(); ++i)
    if (!keep_also.contains(all[i])) discard(path(all[i]));
}

fs::path CheckpointStore::set_aside(std::int64_t update) const {
  const fs::path aside = core::unused_name(path(update).string() + std::string(RunFiles::kDamagedSuffix));
  core::rename_durably(path(update), aside);
  return aside;
}

void save_tensors(const fs::path& path, std::span<const NamedTensor> tensors, const formats::Metadata& metadata) {
  std::vector<formats::TensorSpec> specs;
  for (const NamedTensor& item : tensors)
    specs.push_back({item.name, item.tensor.dtype, {item.tensor.rows, item.tensor.cols}});
  formats::SafetensorsWriter writer(path, std::move(specs), metadata);
  for (const NamedTensor& item : tensors) writer.write(tensor::HostView::of(*item.memory, item.tensor).tensor());
  writer.finish();
}

void load_tensors(const fs::path& path, std::span<const NamedTensor> tensors) {
  const formats::SafetensorsFile file = formats::SafetensorsFile::open(path);
  core::require(file.tensors().size() == tensors.size(), ErrorCode::kInvalidArgument,
                "{}: holds {} tensors, but the configured model has {}; was the model changed?", path.string(),
                file.tensors().size(), tensors.size());
  for (const NamedTensor& item : tensors) {
    const formats::StoredTensor* stored = file.find(item.name);
    core::require(stored != nullptr, ErrorCode::kInvalidArgument, "{}: has no tensor '{}'; was the model changed?",
                  path.string(), item.name);
    const std::vector<std::int64_t> shape{item.tensor.rows, item.tensor.cols};
    core::require(stored->shape == shape && stored->dtype == item.tensor.dtype, ErrorCode::kInvalidArgument,
                  "{}: '{}' is {} {}, but the configured model has {} {}", path.string(), item.name, stored->type,
                  formats::describe_shape(stored->shape), tensor::name_of(item.tensor.dtype),
                  formats::describe_shape(shape));
    const auto view = tensor::HostView::to_be_written(*item.memory, item.tensor);
    file.read(*stored, view.tensor());
    view.store();
  }
}

}  // namespace dragoman::training
