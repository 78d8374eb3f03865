#include "address_options.h"

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/core/option_spelling.h>
#include <dragoman/core/sizes.h>
#include <dragoman/server/server_options.h>

namespace dragoman::server {
namespace {

using core::Json;

/// A text, a list of texts, or an object {de-en: FOLDER}.
void read_models(core::OptionReader& reader, ServerOptions& options) {
  const Json& value = reader.subtree("model");
  const auto add = [&](const Json& folder, const std::string& pair) {
    reader.check(folder.is_string(), "model", "must be folders by language pair, as {de-en: models/de-en}");
    options.models.push_back(pair + folder.get<std::string>());
  };
  if (value.is_object()) {
    for (const auto& [pair, folder] : value.items()) add(folder, pair + "=");
  } else if (value.is_array()) {
    for (const Json& folder : value) add(folder, "");
  } else if (!value.is_null()) {
    add(value, "");
  }
}

core::Option size(std::string name, std::string help) {
  core::Option option;
  option.name = std::move(name);
  option.placeholder = "SIZE";
  option.help = std::move(help);
  option.parse = [](const std::string& word) { return Json(word); };
  return option;
}

void read_size(core::OptionReader& reader, const char* key, std::uint64_t& bytes) {
  const Json& value = reader.subtree(key);
  if (value.is_null()) return;
  const auto spelled = value.is_string() ? core::spelled_size(value.get<std::string>()) : std::nullopt;
  reader.check(spelled.has_value(), key, core::demand_of_size());
  bytes = *spelled;
}

core::OptionTable<ServerOptions> make_table() {
  using Options = ServerOptions;
  using core::OptionReader;
  constexpr core::NumberRange<double> kTime{.least = 0.01, .most = 1e6};
  constexpr core::NumberRange<std::uint64_t> kCount{.least = 0};
  core::OptionTable<Options> table;
  table.group("Models")
      .custom(
          {{.name = "model",
            .placeholder = "PAIR=DIR",
            .help = "model folder for a pair of languages, as de-en=models/de-en; en-*=DIR or DIR alone for a model "
                    "of many languages, which offers the pairs of its table; repeat it for more (YAML: a list)",
            .parse = [](const std::string& word) { return Json::array({word}); },
            .repeated = true}},
          [](OptionReader& reader, Options& options) { read_models(reader, options); })
      .text("pivot", &Options::pivot, "LANGUAGE",
            "translate language pairs that have no model through this language, as en")
      .group("Address")
      .text("host", &Options::host, "NAME",
            "address or name to listen at; 127.0.0.1 is reached from this machine only, 0.0.0.0 and :: from any")
      .number("port", &Options::port, {.least = 0, .most = 65535}, "N",
              "port to listen at; 0: a free one, which is printed")
      .text("tls_certificate", &Options::tls_certificate, "FILE",
            "PEM file with the certificate and the certificates of its issuers; the server then speaks HTTPS only")
      .text("tls_key", &Options::tls_key, "FILE", "PEM file of the certificate's private key")
      .texts("trusted_proxy", &Options::trusted_proxies, "ADDRESS",
             "address of a reverse proxy, whose X-Forwarded-For names the client; repeat it for more (YAML: a list)")
      .text("public_url", &Options::public_url, "URL",
            "address under which clients reach the server, for links to translated files")
      .texts("allow_origin", &Options::allow_origin, "ORIGIN",
             "origin of web pages that may call the server, as https://example.org, or * for all (CORS); repeat it for "
             "more (YAML: a list)")
      .group("Callers")
      .text("keys", &Options::keys, "FILE", "file of keys; requests then need one of them")
      .flag("keys_optional", &Options::keys_optional, "also serve callers without a key, within their limits")
      .text("key_link", &Options::key_link, "URL", "page at which users get a key, for messages")
      .number("requests_per_minute", &Options::requests_per_minute, {.least = 0}, "N",
              "requests per minute of an address without a key; 0: any number")
      .text("admin_token", &Options::admin_token, "TOKEN",
            "secret for POST /admin/reload, which loads models, keys and certificate again")
      .group("Requests")
      .number("character_limit", &Options::character_limit, kCount, "N",
              "characters of a request; a key may have its own limit; 0: any number")
      .number("batch_limit", &Options::batch_limit, kCount, "N", "texts of a request; 0: any number")
      .number("alternatives_limit", &Options::alternatives_limit, {.least = 0, .most = 100}, "N",
              "alternative translations of a text")
      .number("request_time", &Options::request_time, kTime, "SECONDS", "time to answer a request")
      .flag("no_files", &Options::no_files, "do not translate files")
      .text("suggestions", &Options::suggestions, "FILE",
            "append the suggestions of users (POST /suggest) to this file, a JSON object per line; at most 64 MiB")
      .group("Limits")
      .number("characters_in_flight", &Options::characters_in_flight, {.least = 1}, "N",
              "characters of all unfinished requests; a request beyond it gets status 429 and Retry-After")
      .custom({size("body_size", "largest body of a request (default: 8MiB)")},
              [](OptionReader& reader, Options& options) { read_size(reader, "body_size", options.body_bytes); })
      .custom({size("buffer_size", "memory for all bodies and unread answers together (default: 512MiB)")},
              [](OptionReader& reader, Options& options) { read_size(reader, "buffer_size", options.buffered_bytes); })
      .number("connections", &Options::connections, {.least = 1}, "N",
              "connections; one more closes the one that is idle for longest")
      .number("connections_per_address", &Options::connections_per_address, kCount, "N",
              "connections from one address, unless it is a trusted proxy; 0: any number")
      .number("head_time", &Options::head_time, kTime, "SECONDS", "time to send the head of a request")
      .number("body_time", &Options::body_time, kTime, "SECONDS",
              "time to send a body and to read an answer, plus a second for every 4096 bytes")
      .number("idle_time", &Options::idle_time, kTime, "SECONDS", "time that a connection may be idle")
      .flag("half_close", &Options::half_close,
            "wait for clients that end their side of the connection after a request, instead of taking that for "
            "leaving")
      .number("http_threads", &Options::http_threads, {.least = 1, .most = 256}, "N",
              "threads that read requests and write answers")
      .number("drain_time", &Options::drain_time, {.least = 0, .most = 1e6}, "SECONDS",
              "time to finish requests after SIGTERM")
      .group("Observation")
      .text("metrics_token", &Options::metrics_token, "TOKEN",
            "secret for /metrics (Authorization: Bearer TOKEN); without it, /metrics answers this machine only")
      .choice("log", &Options::log, {{"json", LogFormat::kJson}, {"none", LogFormat::kNone}}, "FORMAT",
              "log of requests on standard error: json (an object per line), none")
      .flag("log_texts", &Options::log_texts, "also log paths, texts and translations")
      .flag("log_addresses", &Options::log_addresses, "also log the addresses of clients");
  return table;
}

}  // namespace

const core::OptionTable<ServerOptions>& server_option_table() {
  static const core::OptionTable<ServerOptions> table = make_table();
  return table;
}

ServerOptions read_server_options(const core::Json& tree, const std::string& where) {
  ServerOptions options;
  core::OptionReader reader(tree, where);
  server_option_table().read(reader, options);
  reader.finish();
  reader.check(options.tls_certificate.empty() || !options.tls_key.empty(), "tls_certificate", "needs `tls_key`");
  reader.check(options.tls_key.empty() || !options.tls_certificate.empty(), "tls_key", "needs `tls_certificate`");
  reader.check(!options.keys_optional || !options.keys.empty(), "keys_optional", "needs `keys`");
  check_addresses(reader, options);
  return options;
}

http::Limits http_limits(const ServerOptions& options) {
  using Seconds = http::Limits::Seconds;
  http::Limits limits;
  if (options.body_bytes != 0) limits.body_bytes = options.body_bytes;
  if (options.buffered_bytes != 0) limits.buffered_bytes = options.buffered_bytes;
  limits.connections = options.connections;
  limits.connections_per_address = options.connections_per_address;
  limits.head_time = Seconds(options.head_time);
  limits.body_time = Seconds(options.body_time);
  limits.idle_time = Seconds(options.idle_time);
  limits.request_time = Seconds(options.request_time);
  limits.half_close = options.half_close;
  return limits;
}

}  // namespace dragoman::server
