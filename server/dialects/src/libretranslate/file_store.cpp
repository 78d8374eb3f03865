#include "file_store.h"

#include "common/parameters.h"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace dragoman::server {
namespace {

constexpr std::size_t kRandomDigits = 32;
constexpr std::size_t kMaxBytesOfName = 100;
/// The size of an entry without its content, so that empty files count, too.
constexpr std::size_t kBytesOfEntry = 512;

std::string random_digits() {
  std::random_device device;  // the operating system's generator
  std::string digits;
  while (digits.size() < kRandomDigits) digits += fmt::format("{:08x}", static_cast<std::uint32_t>(device()));
  return digits;
}

bool is_safe(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

std::string safe_name(std::string_view name) {
  name = name.substr(name.find_last_of("/\\") + 1);
  if (name.size() > kMaxBytesOfName) name.remove_prefix(name.size() - kMaxBytesOfName);
  std::string safe;
  for (const char c : name) safe += is_safe(c) ? c : '_';
  return safe;
}

}  // namespace

std::string FileStore::put(std::string_view name, std::string content, Clock::time_point now) {
  const std::size_t bytes = content.size() + kBytesOfEntry;
  if (bytes > most_bytes_)
    throw BadRequest(fmt::format("the translation has {} bytes; the server keeps files of up to {} bytes",
                                 content.size(), most_bytes_ - std::min(most_bytes_, kBytesOfEntry)),
                     413);
  std::string stored = random_digits() + "." + safe_name(name);
  const std::lock_guard lock(mutex_);
  drop_old(now);
  while (bytes_ + bytes > most_bytes_) drop_oldest();
  bytes_ += bytes;
  files_.push_back({stored, std::move(content), now});
  return stored;
}

std::optional<std::string> FileStore::get(std::string_view stored_name, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  drop_old(now);
  const auto found = std::ranges::find(files_, stored_name, &File::name);
  return found == files_.end() ? std::nullopt : std::optional(found->content);
}

void FileStore::drop_old(Clock::time_point now) {
  while (!files_.empty() && now - files_.front().kept > most_age_) drop_oldest();
}

void FileStore::drop_oldest() {
  bytes_ -= files_.front().content.size() + kBytesOfEntry;
  files_.pop_front();
}

bool FileStore::is_name(std::string_view stored_name) noexcept {
  return stored_name.size() > kRandomDigits && stored_name[kRandomDigits] == '.' &&
         std::ranges::all_of(stored_name, is_safe);
}

std::string FileStore::download_name(std::string_view stored_name) {
  return std::string(stored_name.substr(std::min(kRandomDigits + 1, stored_name.size())));
}

}  // namespace dragoman::server
