#pragma once

#include <dragoman/core/json.h>

namespace dragoman::server {

/// Returns the description of LibreTranslate's routes that `/spec` answers, in the form of Swagger 2.0.
const core::Json& libretranslate_spec();

}  // namespace dragoman::server
