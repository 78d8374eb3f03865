#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/core/option_table.h>
#include <dragoman/server/http_server.h>

namespace dragoman::server {

enum class LogFormat { kJson, kNone };

/// The options of `dragoman serve`, from its flags and its file.
struct ServerOptions {
  /// `de-en=FOLDER`, or a folder.
  std::vector<std::string> models = {};

  // Address
  std::string host = "127.0.0.1";
  int port = 5000;
  std::string tls_certificate = {};
  std::string tls_key = {};
  std::vector<std::string> trusted_proxies = {};
  std::string public_url = {};
  std::vector<std::string> allow_origin = {};

  // Callers
  std::string keys = {};
  bool keys_optional = false;
  std::string key_link = {};
  int requests_per_minute = 0;
  std::string admin_token = {};

  // Requests
  std::uint64_t character_limit = 0;
  std::uint64_t batch_limit = 0;
  int alternatives_limit = 16;
  double request_time = 300;
  bool no_files = false;
  std::string suggestions = {};
  std::string pivot = {};

  // Limits
  std::uint64_t characters_in_flight = 2'000'000;
  std::uint64_t body_bytes = 0;      ///< 0: http::Limits
  std::uint64_t buffered_bytes = 0;  ///< 0: http::Limits
  std::uint64_t connections = 10'000;
  std::uint64_t connections_per_address = 256;
  double head_time = 10;
  double body_time = 30;
  double idle_time = 75;
  bool half_close = false;
  int http_threads = 2;
  double drain_time = 30;

  // Observation
  std::string metrics_token = {};
  LogFormat log = LogFormat::kJson;
  bool log_texts = false;
  bool log_addresses = false;
};

const core::OptionTable<ServerOptions>& server_option_table();

/// Reads options from a tree with the keys of the table. `where` names the file for messages. Error{kBadInput} for
/// unknown keys and values, and for options that exclude each other.
ServerOptions read_server_options(const core::Json& tree, const std::string& where);

http::Limits http_limits(const ServerOptions& options);

}  // namespace dragoman::server
