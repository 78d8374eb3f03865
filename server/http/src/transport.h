#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

namespace boost::asio::ssl {
class context;
}

namespace dragoman::server::http {

/// Bytes to and from a client, encrypted or not. One read and one write may be in progress at a time. Functions are
/// called on the executor of the socket, and so are the callbacks, after the call has returned.
class Transport {
 public:
  using Error = boost::system::error_code;
  using Transferred = std::function<void(Error, std::size_t)>;
  using Finished = std::function<void(Error)>;

  virtual ~Transport() = default;
  virtual boost::asio::ip::tcp::socket& socket() noexcept = 0;
  virtual void handshake(Finished finished) = 0;
  virtual void read_some(boost::asio::mutable_buffer into, Transferred transferred) = 0;
  virtual void write_some(boost::asio::const_buffer from, Transferred transferred) = 0;
  /// Tells the client that nothing more will be written.
  virtual void end_writing() = 0;
};

std::unique_ptr<Transport> make_plain_transport(boost::asio::ip::tcp::socket socket);
std::unique_ptr<Transport> make_tls_transport(boost::asio::ip::tcp::socket socket,
                                              std::shared_ptr<boost::asio::ssl::context> context);

/// Reads certificate and key. Throws Error{kIo} that names the file, the reason and the remedy.
std::shared_ptr<boost::asio::ssl::context> make_tls_context(const std::string& certificate,
                                                            const std::string& private_key);

}  // namespace dragoman::server::http
