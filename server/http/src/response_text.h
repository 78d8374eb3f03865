#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <dragoman/server/http.h>

namespace dragoman::server::http {

/// How the end of a body is found.
struct Framing {
  std::optional<std::uint64_t> length = {};  ///< Content-Length
  bool chunked = false;
  bool keeps_alive = true;
};

/// Returns the status line and the header fields. Fields of the handler that are malformed, or that the server itself
/// decides (Content-Length, Transfer-Encoding, Connection, Date), are left out.
std::string head_text(const Response& response, const Framing& framing);

/// Returns a part of a body in chunked coding. `part` is not empty.
std::string chunk_text(std::string_view part);

inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace dragoman::server::http
