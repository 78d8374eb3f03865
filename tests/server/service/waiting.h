#pragma once

#include <future>
#include <memory>
#include <utility>

#include <dragoman/server/translation_service.h>

namespace dragoman::server {

inline std::future<TranslateResult> submit(TranslationService& service, TranslateRequest request) {
  const auto promise = std::make_shared<std::promise<TranslateResult>>();
  service.translate(std::move(request), [promise](TranslateResult result) { promise->set_value(std::move(result)); });
  return promise->get_future();
}

inline TranslateResult wait_for(TranslationService& service, TranslateRequest request) {
  return submit(service, std::move(request)).get();
}

/// Returns the code and the message of an error.
inline std::pair<core::ErrorCode, std::string> reason(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const core::Error& thrown) {
    return {thrown.code(), thrown.what()};
  }
  return {core::ErrorCode::kInternal, "no error"};
}

}  // namespace dragoman::server
