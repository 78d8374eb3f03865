#include "admission.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <dragoman/core/error.h>

namespace dragoman::server {

std::size_t Admission::characters(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::size_t Admission::weight(const std::vector<std::string>& texts) {
  std::size_t sum = 0;
  for (const std::string& text : texts) sum += TranslationService::kCharactersOfText + characters(text);
  return std::max(sum, TranslationService::kCharactersOfText);
}

std::size_t Admission::weight(const TranslateRequest& request, std::int32_t translations) {
  constexpr std::size_t kAlignment = 16;
  const std::size_t factor =
      static_cast<std::size_t>(std::max(translations, 1)) * (request.details && request.alignment ? kAlignment : 1);
  return weight(request.texts) * factor;
}

std::size_t Admission::most_of(const std::string& caller) const {
  return caller.empty() ? most_ : most_ - most_ / 4;
}

std::chrono::seconds Admission::wait_for(std::size_t excess, Clock::time_point now) const {
  constexpr double kLongest = 60;
  const double elapsed = std::chrono::duration<double>(now - busy_since_).count();
  const double pace = done_since_ > 0 && elapsed > 0 ? static_cast<double>(done_since_) / elapsed : 0;
  const double seconds = pace > 0 ? static_cast<double>(excess) / pace : 1;
  return std::chrono::seconds(static_cast<int>(std::clamp(std::ceil(seconds), 1.0, kLongest)));
}

void Admission::enter(std::size_t weight, Clock::time_point now, const std::string& caller) {
  const std::size_t most = most_of(caller);
  core::require(weight <= most, core::ErrorCode::kBadInput,
                "the request counts as {} characters: {} more for each text, as often as it has translations, and 16 "
                "times with alignments; the server translates at most {} at a time: send it in parts",
                weight, TranslationService::kCharactersOfText, most);
  const std::lock_guard lock(mutex_);
  const auto found = by_caller_.find(caller);
  const std::size_t own = caller.empty() || found == by_caller_.end() ? 0 : found->second;
  if (inside_ + weight > most_ || own + weight > most) {
    ++refused_;
    const std::size_t excess =
        std::max(inside_ + weight - std::min(inside_ + weight, most_), own + weight - std::min(own + weight, most));
    const std::chrono::seconds wait = wait_for(excess, now);
    throw Busy(fmt::format("the server is busy: requests with {} characters are waiting; try again in {} s", inside_,
                           wait.count()),
               wait);
  }
  if (requests_ == 0) {
    busy_since_ = now;
    done_since_ = 0;
  }
  if (!caller.empty()) by_caller_[caller] += weight;
  inside_ += weight;
  ++requests_;
}

void Admission::leave(std::size_t weight, std::size_t characters, const std::string& caller) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_caller_.find(caller); found != by_caller_.end()) {
    found->second -= weight;
    if (found->second == 0) by_caller_.erase(found);
  }
  inside_ -= weight;
  --requests_;
  ++requests_done_;
  characters_done_ += characters;
  done_since_ += weight;
}

void Admission::describe(ServiceLoad& load) const {
  const std::lock_guard lock(mutex_);
  load.requests = requests_;
  load.characters = inside_;
  load.requests_done = requests_done_;
  load.characters_done = characters_done_;
  load.refused = refused_;
}

}  // namespace dragoman::server
