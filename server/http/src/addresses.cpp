#include "addresses.h"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>

#include <dragoman/server/http_server.h>

namespace dragoman::server::http {

namespace ip = boost::asio::ip;

std::string spelled_address(const ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return ip::make_address_v4(ip::v4_mapped, address.to_v6()).to_string();
  return address.to_string();
}

std::optional<std::string> canonical_address(const std::string& text) {
  boost::system::error_code error;
  const ip::address address = ip::make_address(text, error);
  if (error) return std::nullopt;
  return spelled_address(address);
}

}  // namespace dragoman::server::http
