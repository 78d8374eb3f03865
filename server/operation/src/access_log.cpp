#include "access_log.h"

#include <cmath>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <dragoman/core/json.h>

namespace dragoman::server {

std::string access_line(const AccessRecord& record) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(record.time.time_since_epoch()).count();
  core::Json line = core::Json::object();
  line["time"] =
      fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(since / 1000)), since % 1000);
  const auto add = [&](const char* name, std::string_view text) {
    if (!text.empty()) line[name] = text;
  };
  add("method", record.method);
  add("route", record.route);
  line["status"] = record.status;
  line["seconds"] = std::round(record.seconds * 1e6) / 1e6;
  line["bytes_in"] = record.bytes_in;
  line["bytes_out"] = record.bytes_out;
  if (record.gone) line["gone"] = true;
  add("key", record.key);
  add("address", record.address);
  add("reason", record.reason);
  add("path", record.path);
  add("request", record.request);
  add("answer", record.answer);
  // A text may be cut within a character.
  return line.dump(-1, ' ', false, core::Json::error_handler_t::replace);
}

}  // namespace dragoman::server
