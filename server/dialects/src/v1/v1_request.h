#pragma once

#include "common/answers.h"

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/core/option_table.h>

namespace dragoman::server {

/// The content of a request to `/v1/translate`.
struct V1Request {
  core::SharedJson text = core::SharedJson::null();  ///< a text or a list of texts
  std::string source = "auto";
  std::string target{};
  std::string format = "text";
  std::int32_t n_best = 1;
  std::string target_prefix{};
  std::vector<std::string> constraints{};
  std::vector<std::string> suppress{};
  core::SharedJson glossary = core::SharedJson::null();
  core::SharedJson options{};
  bool details = false;
  bool alignment = false;
  bool stream = false;
};

/// The table of its keys, from which the OpenAPI document is made, too.
const core::OptionTable<V1Request>& v1_table();

/// Reads the keys of an object. Error{kBadInput} that names the key.
V1Request read_v1_request(const core::Json& object);

/// Converts the fields of a query string to the values that JSON would have: "n_best=2" to 2. BadRequest for a value
/// that the option cannot have.
core::Json v1_object_of_query(const http::Request& request);

/// Makes a request to the service.
TranslateRequest translate_request(const V1Request& asked, std::vector<std::string> texts,
                                   const http::Request& request);

/// Returns a text's translation as `/v1` answers it.
core::Json v1_translation(const TranslatedText& text, const V1Request& asked);

/// The largest number of texts of a request to `/v1/detect`.
inline constexpr std::size_t kMaxDetections = 100;

/// Returns the OpenAPI document of a service.
core::Json v1_openapi(const TranslationService& service, const DialectOptions& options);

}  // namespace dragoman::server
