#include "admission.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <dragoman/core/error.h>

namespace dragoman::server {

std::size_t Admission::weight(const std::vector<std::string>& texts) {
  std::size_t characters = 0;
  for (const std::string& text : texts) {
    characters += TranslationService::kCharactersOfText;
    characters += static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
  }
  return std::max(characters, TranslationService::kCharactersOfText);
}

std::chrono::seconds Admission::wait_for(std::size_t weight, Clock::time_point now) const {
  constexpr double kLongest = 60;
  const double elapsed = std::chrono::duration<double>(now - busy_since_).count();
  const double pace = done_since_ > 0 && elapsed > 0 ? static_cast<double>(done_since_) / elapsed : 0;
  const auto excess = static_cast<double>(inside_ + weight - most_);
  const double seconds = pace > 0 ? excess / pace : 1;
  return std::chrono::seconds(static_cast<int>(std::clamp(std::ceil(seconds), 1.0, kLongest)));
}

void Admission::enter(std::size_t weight, Clock::time_point now) {
  core::require(weight <= most_, core::ErrorCode::kBadInput,
                "the request has {} characters, {} of them for each text; the server translates at most {} at a time: "
                "send it in parts",
                weight, TranslationService::kCharactersOfText, most_);
  const std::lock_guard lock(mutex_);
  if (inside_ + weight > most_) {
    ++refused_;
    const std::chrono::seconds wait = wait_for(weight, now);
    throw Busy(fmt::format("the server is busy: requests with {} characters are waiting; try again in {} s", inside_,
                           wait.count()),
               wait);
  }
  if (requests_ == 0) {
    busy_since_ = now;
    done_since_ = 0;
  }
  inside_ += weight;
  ++requests_;
}

void Admission::leave(std::size_t weight) {
  const std::lock_guard lock(mutex_);
  inside_ -= weight;
  --requests_;
  ++requests_done_;
  characters_done_ += weight;
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
