#pragma once

#include <dragoman/core/json.h>
#include <dragoman/server/dialects.h>
#include <dragoman/server/translation_service.h>

namespace dragoman::server {

/// Returns the description of LibreTranslate's routes that `/spec` answers, in the form of Swagger 2.0.
core::Json libretranslate_spec(const TranslationService& service, const DialectOptions& options);

}  // namespace dragoman::server
