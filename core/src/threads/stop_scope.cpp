#include "dragoman/core/stop_scope.h"

#include "dragoman/core/default_stop.h"
#include "dragoman/core/error.h"
#include "dragoman/core/file.h"

#include <utility>

namespace dragoman::core {
namespace {

std::stop_token& programs_stop() {
  static std::stop_token stop;
  return stop;
}

thread_local const std::stop_token* scopes_stop = nullptr;

}  // namespace

StopScope::StopScope(std::stop_token stop) noexcept : stop_(std::move(stop)), outer_(scopes_stop) {
  if (stop_.stop_possible()) scopes_stop = &stop_;
}

StopScope::~StopScope() {
  scopes_stop = outer_;
}

std::stop_token StopScope::current() noexcept {
  return scopes_stop != nullptr ? *scopes_stop : std::stop_token();
}

void check_stop(const char* doing) {
  if (scopes_stop != nullptr && scopes_stop->stop_requested())
    fail(ErrorCode::kInterrupted, "interrupted while {}", doing);
}

void set_default_stop(std::stop_token stop) {
  programs_stop() = std::move(stop);
}

const std::stop_token& default_stop() noexcept {
  return scopes_stop != nullptr ? *scopes_stop : programs_stop();
}

}  // namespace dragoman::core
