#include "records/tensorboard_log.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <system_error>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using core::Json;

constexpr std::string_view kEventFilePrefix = "events.out.tfevents.";
constexpr std::string_view kEventFileSuffix = ".dragoman";
constexpr std::size_t kDigits = 10;

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Returns the seconds in the name of a file that this program may have written, or nullopt for any other name: files
/// of other programs are not changed.
std::optional<std::int64_t> seconds_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.size() != kEventFilePrefix.size() + kDigits + kEventFileSuffix.size()) return std::nullopt;
  if (!name.starts_with(kEventFilePrefix) || !name.ends_with(kEventFileSuffix)) return std::nullopt;
  std::int64_t seconds = 0;
  const char* const end = name.data() + kEventFilePrefix.size() + kDigits;
  const auto [stop, error] = std::from_chars(end - kDigits, end, seconds);
  if (error != std::errc{} || stop != end || seconds < 0) return std::nullopt;
  return seconds;
}

/// Keeps the file's events of updates before `update`, and the first `lines` events of that update, which it counts
/// down. If no event remains, the file is removed. Returns whether it has events now. A file that had none, or anything
/// else, belongs to others and is kept; links are not followed.
bool cut(const fs::path& path, std::int64_t update, std::uint64_t& lines) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 32;
  if (!fs::is_regular_file(fs::symlink_status(path))) return false;
  const std::string before = core::read_regular_file(path, kLargest);
  std::string after;
  bool empty = true;
  const std::vector<StoredEvent> events = read_events(before);
  if (events.empty()) return false;
  for (const StoredEvent& event : events) {
    if (!event.is_version && (event.step > update || (event.step == update && lines == 0))) continue;
    if (!event.is_version && event.step == update) --lines;
    after += event.record;
    empty = empty && event.is_version;
  }
  if (empty)
    fs::remove(path);
  else if (after != before)
    core::write_file(path, after);
  return !empty;
}

/// Returns a free name after `last`, the time of the last event file, or -1. TensorBoard reads the files of a folder in
/// the order of their names, which begin with their creation time in seconds.
fs::path new_name(const fs::path& folder, std::int64_t last) {
  const auto name_at = [&](std::int64_t seconds) {
    return folder / fmt::format("{}{:0{}}{}", kEventFilePrefix, seconds, kDigits, kEventFileSuffix);
  };
  std::int64_t seconds = std::max(static_cast<std::int64_t>(now()), last + 1);
  // Others may have a file or a folder of this name, and a link is not followed.
  std::error_code ignored;
  while (fs::exists(fs::symlink_status(name_at(seconds), ignored))) ++seconds;
  core::require(seconds_of(name_at(seconds)).has_value(), core::ErrorCode::kBadInput,
                "{}: has a time that is too late to go on after it; remove it", name_at(last).string());
  return name_at(seconds);
}

std::string as_markdown(const Json& sample) {
  const auto quoted = [&](const char* key) {
    std::string text = sample.value(key, std::string());
    // In Markdown, the quotation ends at the end of a line, and line ends have several forms.
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
    return "    " + text + "\n\n";  // verbatim, whatever markup it contains
  };
  return "source\n\n" + quoted("source") + "prediction\n\n" + quoted("prediction") + "reference\n\n" +
         quoted("reference");
}

/// Returns whether a number of a line is its time rather than a result.
bool is_time(const std::string& key) {
  return key == "update" || key == "target_tokens" || key == "seconds";
}

}  // namespace

TensorBoardLog::TensorBoardLog(const fs::path& folder, std::int64_t update, std::uint64_t lines) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);  // writing reports what is wrong with it
  std::int64_t last = -1;
  // list_folder() sorts by name. The order of time matters because cut() counts the lines down.
  for (const fs::path& file : core::list_folder(folder))
    if (const auto seconds = seconds_of(file); seconds && cut(file, update, lines)) last = std::max(last, *seconds);
  file_.emplace(new_name(folder, last));
  if (update > 0) file_->append({.wall_time = now(), .step = update + 1, .restarts = true});
}

void TensorBoardLog::append(const Json& line) {
  const auto type = line.value("type", std::string());
  TensorBoardEvent event{.wall_time = now(), .step = line.value("update", std::int64_t{0})};
  if (type == "sample") {
    samples_ = sampled_update_ == event.step ? samples_ + 1 : 1;
    sampled_update_ = event.step;
    event.texts.emplace_back(fmt::format("samples/{}/text_summary", samples_), as_markdown(line));
    file_->append(event);
    return;
  }
  const std::string group = type == "training" ? "train" : type;
  for (const auto& [key, value] : line.items())
    if (value.is_number() && !is_time(key) && std::isfinite(value.get<double>()))
      event.scalars.emplace_back(group + "/" + key, value.get<double>());
  const double seconds = line.value("seconds", 0.0);
  if (type == "training" && seconds > 0)
    event.scalars.emplace_back("train/tokens_per_second", line.value("target_tokens", 0.0) / seconds);
  file_->append(event);  // one per line of metrics.jsonl, by which files are cut
}

}  // namespace dragoman::training
