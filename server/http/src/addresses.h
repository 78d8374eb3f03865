#pragma once

#include <string>

#include <boost/asio/ip/address.hpp>

namespace dragoman::server::http {

/// Returns the text of an address, as in Request::peer. An IPv4 address that is mapped into IPv6 is spelled as IPv4.
std::string spelled_address(const boost::asio::ip::address& address);

}  // namespace dragoman::server::http
