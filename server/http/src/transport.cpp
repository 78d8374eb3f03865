#include "transport.h"

#include <utility>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>

namespace dragoman::server::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(tcp::socket socket) : socket_(std::move(socket)) {}
  tcp::socket& socket() noexcept override { return socket_; }
  void handshake(Finished finished) override {
    asio::post(socket_.get_executor(), [finished = std::move(finished)] { finished({}); });
  }
  void read_some(asio::mutable_buffer into, Transferred transferred) override {
    socket_.async_read_some(into, std::move(transferred));
  }
  void write_some(asio::const_buffer from, Transferred transferred) override {
    socket_.async_write_some(from, std::move(transferred));
  }
  void end_writing() override {
    Error ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }

 private:
  tcp::socket socket_;
};

class TlsTransport final : public Transport {
 public:
  TlsTransport(tcp::socket socket, std::shared_ptr<asio::ssl::context> context)
      : context_(std::move(context)), stream_(std::make_shared<Stream>(std::move(socket), *context_)) {}
  tcp::socket& socket() noexcept override { return stream_->next_layer(); }
  void handshake(Finished finished) override {
    stream_->async_handshake(asio::ssl::stream_base::server, std::move(finished));
  }
  void read_some(asio::mutable_buffer into, Transferred transferred) override {
    stream_->async_read_some(into, std::move(transferred));
  }
  void write_some(asio::const_buffer from, Transferred transferred) override {
    stream_->async_write_some(from, std::move(transferred));
  }
  void end_writing() override {
    // It waits for the client's answer; the connection's timer ends that by closing the socket.
    stream_->async_shutdown([stream = stream_, context = context_](const Error&) {});
  }

 private:
  using Stream = asio::ssl::stream<tcp::socket>;
  std::shared_ptr<asio::ssl::context> context_;
  std::shared_ptr<Stream> stream_;
};

std::string read_pem(const std::string& name) {
  core::InputFile file(name);
  std::string text;
  constexpr std::size_t kMaxBytes = 1024 * 1024;
  char part[4096];
  while (const std::size_t bytes = file.read(part)) {
    text.append(part, bytes);
    core::require(text.size() <= kMaxBytes, core::ErrorCode::kBadInput, "{}: is too large for a PEM file", name);
  }
  return text;
}

[[noreturn]] void fail_tls(const std::string& name, const Transport::Error& error, std::string_view remedy) {
  core::fail(core::ErrorCode::kBadInput, "{}: {}; {}", name, error.message(), remedy);
}

}  // namespace

std::unique_ptr<Transport> make_plain_transport(tcp::socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

std::unique_ptr<Transport> make_tls_transport(tcp::socket socket, std::shared_ptr<asio::ssl::context> context) {
  return std::make_unique<TlsTransport>(std::move(socket), std::move(context));
}

std::shared_ptr<asio::ssl::context> make_tls_context(const std::string& certificate, const std::string& private_key) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  context->set_options(asio::ssl::context::default_workarounds | SSL_OP_NO_RENEGOTIATION |
                       SSL_OP_CIPHER_SERVER_PREFERENCE);
  // The buffers of an idle connection.
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  Transport::Error error;
  // Otherwise OpenSSL asks on the terminal.
  context->set_password_callback([](std::size_t, asio::ssl::context::password_purpose) { return std::string(); },
                                 error);
  context->use_certificate_chain(asio::buffer(read_pem(certificate)), error);
  if (error)
    fail_tls(certificate, error,
             "give a PEM file with the certificate and the certificates of its issuers, in this order");
  context->use_private_key(asio::buffer(read_pem(private_key)), asio::ssl::context::pem, error);
  if (error) fail_tls(private_key, error, "give the certificate's private key as an unencrypted PEM file");
  if (SSL_CTX_check_private_key(context->native_handle()) != 1)
    core::fail(core::ErrorCode::kBadInput, "{}: is not the private key of {}", private_key, certificate);
  return context;
}

}  // namespace dragoman::server::http
