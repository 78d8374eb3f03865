#include "addresses.h"
#include "connection.h"
#include "server_core.h"
#include "transport.h"

#include <algorithm>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/server/http_server.h>

namespace dragoman::server::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using SystemError = boost::system::error_code;

/// When the system has no more descriptors.
constexpr std::chrono::milliseconds kAcceptPause{100};

std::string host_of_url(const asio::ip::address& address) {
  return address.is_v6() ? fmt::format("[{}]", address.to_string()) : address.to_string();
}

std::vector<asio::ip::address> resolve(asio::io_context& io, const std::string& host) {
  tcp::resolver resolver(io);
  SystemError error;
  std::vector<asio::ip::address> addresses;
  for (const auto& entry : resolver.resolve(host, "0", tcp::resolver::passive, error))
    if (std::ranges::find(addresses, entry.endpoint().address()) == addresses.end())
      addresses.push_back(entry.endpoint().address());
  core::require(!error && !addresses.empty(), core::ErrorCode::kIo, "host '{}': {}; give an address of this machine",
                host, error.message());
  return addresses;
}

}  // namespace

struct HttpServer::Impl {
  struct Listener {
    explicit Listener(const asio::any_io_executor& executor) : acceptor(executor), pause(executor) {}
    tcp::acceptor acceptor;
    asio::steady_timer pause;
  };

  Impl(ServerSetup setup, Handler handler)
      : core(std::make_shared<ServerCore>(std::move(setup), std::move(handler))),
        work(asio::make_work_guard(core->io)),
        strand(asio::make_strand(core->io)) {}

  void bind() {
    int port = core->setup.port;
    for (const asio::ip::address& address : resolve(core->io, core->setup.host)) {
      auto listener = std::make_unique<Listener>(strand);
      const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(port));
      SystemError error;
      tcp::acceptor& acceptor = listener->acceptor;
      acceptor.open(endpoint.protocol(), error);
      if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
      // A name such as "localhost" may have several addresses. Each is bound separately.
      if (!error && address.is_v6() && !address.is_unspecified()) acceptor.set_option(asio::ip::v6_only(true), error);
      if (!error) acceptor.bind(endpoint, error);
      require_listening(endpoint, error);
      if (port == 0) port = acceptor.local_endpoint().port();
      listeners.push_back(std::move(listener));
    }
    bound_port = port;
  }

  static void require_listening(const tcp::endpoint& endpoint, const SystemError& error) {
    core::require(!error, core::ErrorCode::kIo, "cannot listen at {}:{}: {}; choose another `port` or `host`",
                  host_of_url(endpoint.address()), endpoint.port(), error.message());
  }

  void listen() {
    for (const auto& listener : listeners) {
      SystemError error;
      const tcp::endpoint endpoint = listener->acceptor.local_endpoint(error);
      if (!error) listener->acceptor.listen(asio::socket_base::max_listen_connections, error);
      require_listening(endpoint, error);
    }
  }

  /// Asks for the next connection. Without memory, it tries again until there is some.
  void accept(Listener& listener) noexcept {
    while (listener.acceptor.is_open()) {
      try {
        return begin_accept(listener);
      } catch (const std::exception& error) {
        core->warn(error);
        std::this_thread::sleep_for(kAcceptPause);
      }
    }
  }

  void begin_accept(Listener& listener) {
    auto socket = std::make_shared<tcp::socket>(asio::any_io_executor(asio::make_strand(core->io)));
    listener.acceptor.async_accept(*socket, [this, &listener, socket](const SystemError& error) {
      if (!listener.acceptor.is_open()) return;
      if (!error) {
        take(*socket);
        accept(listener);
        return;
      }
      listener.pause.expires_after(kAcceptPause);
      listener.pause.async_wait([this, &listener](const SystemError& /*error*/) { accept(listener); });
    });
  }

  void take(tcp::socket& socket) noexcept {
    try {
      SystemError error;
      const tcp::endpoint endpoint = socket.remote_endpoint(error);
      if (error) return;  // it has gone already
      socket.set_option(tcp::no_delay(true), error);
      const std::shared_ptr<asio::ssl::context> context = tls();
      auto transport =
          context ? make_tls_transport(std::move(socket), context) : make_plain_transport(std::move(socket));
      auto connection = std::make_shared<Connection>(core, std::move(transport), spelled_address(endpoint.address()));
      if (core->admit(connection))
        core->post(*connection, [connection] { connection->start(); });
      else if (core->setup.refused)
        core->setup.refused(0, connection->peer(), "too many connections");
    } catch (const std::exception& error) {
      core->warn(error);
    }
  }

  std::shared_ptr<asio::ssl::context> tls() {
    const std::lock_guard lock(tls_mutex);
    return tls_context;
  }

  std::shared_ptr<asio::ssl::context> read_certificate() const {
    const ServerSetup& setup = core->setup;
    return setup.certificate.empty() ? nullptr : make_tls_context(setup.certificate, setup.private_key);
  }

  void use_certificate(std::shared_ptr<asio::ssl::context> context) {
    const std::lock_guard lock(tls_mutex);
    tls_context = std::move(context);
  }

  void stop_accepting() {
    core->draining = true;
    asio::post(strand, [this] {
      for (const auto& listener : listeners) {
        SystemError ignored;
        listener->acceptor.close(ignored);
        listener->pause.cancel(ignored);
      }
    });
  }

  bool wait_until_empty(std::chrono::steady_clock::time_point end) {
    std::unique_lock lock(core->mutex);
    return core->removed.wait_until(lock, end, [&] { return core->connections.empty(); });
  }

  std::shared_ptr<ServerCore> core;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  asio::any_io_executor strand;  // of the listeners
  std::vector<std::unique_ptr<Listener>> listeners;
  int bound_port = 0;
  std::mutex tls_mutex;
  std::shared_ptr<asio::ssl::context> tls_context;
  std::vector<std::thread> threads;
};

HttpServer::HttpServer(ServerSetup setup, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(setup), std::move(handler))) {
  impl_->use_certificate(impl_->read_certificate());
  impl_->bind();
}

HttpServer::~HttpServer() {
  impl_->stop_accepting();
  for (const auto& connection : impl_->core->all())
    impl_->core->post(*connection, [connection] { connection->close(); });
  impl_->work.reset();
  for (std::thread& thread : impl_->threads) thread.join();
  // Runs the remaining handlers of a server that was never started.
  impl_->core->io.restart();
  impl_->core->io.poll();
  {
    const std::lock_guard lock(impl_->core->mutex);
    impl_->core->ended = true;
  }
  impl_->core->io.restart();
  impl_->core->io.poll();
}

void HttpServer::start() {
  impl_->listen();
  asio::post(impl_->strand, [impl = impl_.get()] {
    for (const auto& listener : impl->listeners) impl->accept(*listener);
  });
  for (int i = 0; i < impl_->core->setup.threads; ++i)
    impl_->threads.emplace_back([core = impl_->core] { core->run(); });
}

int HttpServer::port() const noexcept {
  return impl_->bound_port;
}

std::vector<std::string> HttpServer::urls() const {
  std::vector<std::string> urls;
  for (const auto& listener : impl_->listeners)
    urls.push_back(fmt::format("{}://{}:{}", impl_->core->setup.certificate.empty() ? "http" : "https",
                               host_of_url(listener->acceptor.local_endpoint().address()), impl_->bound_port));
  return urls;
}

std::function<void()> HttpServer::prepare_certificate() {
  return [impl = impl_.get(), context = impl_->read_certificate()] { impl->use_certificate(context); };
}

bool HttpServer::drain(std::chrono::milliseconds bound) {
  const auto start = std::chrono::steady_clock::now();
  impl_->stop_accepting();
  for (const auto& connection : impl_->core->all())
    impl_->core->post(*connection, [connection] { connection->drain(); });
  if (impl_->wait_until_empty(start + bound)) return true;
  for (const auto& connection : impl_->core->all())
    impl_->core->post(*connection, [connection] { connection->hurry(); });
  const auto last = std::chrono::duration_cast<std::chrono::milliseconds>(impl_->core->setup.limits.last_time);
  impl_->wait_until_empty(std::chrono::steady_clock::now() + last);
  return false;
}

std::size_t HttpServer::connections() const noexcept {
  const std::lock_guard lock(impl_->core->mutex);
  return impl_->core->connections.size();
}

std::size_t HttpServer::requests_in_flight() const noexcept {
  return impl_->core->in_flight;
}

std::size_t HttpServer::buffered_bytes() const noexcept {
  return impl_->core->buffered;
}

}  // namespace dragoman::server::http
