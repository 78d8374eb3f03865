#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <dragoman/server/router.h>
#include <dragoman/server/translation_service.h>

namespace dragoman::server {

/// The settings that all dialects share.
struct DialectOptions {
  /// The limit of characters that clients are told; 0: none. The one that holds is http::Request::character_limit.
  std::size_t character_limit = 0;
  /// The largest number of texts in a request. 0: any number.
  std::size_t batch_limit = 0;
  /// The largest number of alternatives of a request to LibreTranslate's routes.
  std::int32_t alternatives_limit = 16;

  /// Whether the server has keys, and whether each request needs one; for clients that ask.
  bool has_keys = false;
  bool requires_key = false;
  /// The page at which users get a key; empty: they ask the operator.
  std::string key_link{};

  /// Whether files are translated. Their translations are kept in memory: 64 MiB in all, for half an hour.
  bool translates_files = true;
  /// The address under which clients reach the server: "https://translate.example.org". Empty: the Host of the request.
  std::string public_url{};

  /// A better translation of a text, from a user.
  struct Suggestion {
    std::string text{};
    std::string translation{};
    std::string source{};
    std::string target{};
  };
  /// Stores a suggestion, quickly and from any thread. Returns false if it cannot be stored now. Empty: suggestions are
  /// refused.
  std::function<bool(const Suggestion&)> suggest{};
};

/// Add the routes of a dialect. The service must outlive the router. docs/reference/http-api.md describes them.
void add_libretranslate_routes(http::Router& router, TranslationService& service, const DialectOptions& options);
void add_deepl_routes(http::Router& router, TranslationService& service, const DialectOptions& options);
/// `/imme` of Immersive Translate, `/kiss` of KISS Translator, `/deeplx` of DeepLX.
void add_imme_routes(http::Router& router, TranslationService& service, const DialectOptions& options);
void add_kiss_routes(http::Router& router, TranslationService& service, const DialectOptions& options);
void add_deeplx_routes(http::Router& router, TranslationService& service, const DialectOptions& options);
/// Dragoman's own interface, `/v1`.
void add_v1_routes(http::Router& router, TranslationService& service, const DialectOptions& options);
/// All of them.
void add_dialects(http::Router& router, TranslationService& service, const DialectOptions& options);

}  // namespace dragoman::server
