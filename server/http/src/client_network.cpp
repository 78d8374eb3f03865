#include <algorithm>
#include <string>

#include <boost/asio/ip/address.hpp>

#include <dragoman/server/http.h>

namespace dragoman::server::http {

std::string client_network(std::string_view address) {
  constexpr std::size_t kNetworkBytes = 8;
  boost::system::error_code error;
  const auto parsed = boost::asio::ip::make_address(std::string(address), error);
  if (error || !parsed.is_v6()) return std::string(address);
  boost::asio::ip::address_v6::bytes_type bytes = parsed.to_v6().to_bytes();
  std::fill(bytes.begin() + kNetworkBytes, bytes.end(), 0);
  return boost::asio::ip::address_v6(bytes).to_string();
}

}  // namespace dragoman::server::http
