#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

namespace dragoman::testing {

/// An answer as it was on the wire.
struct RawAnswer {
  int status = 0;
  std::map<std::string, std::string> fields;  ///< names in lower case
  std::string body;                           ///< without chunked coding
};

/// A client that sends and reads bytes as a test says. It shares no code with the server.
class RawClient {
 public:
  explicit RawClient(int port, const char* from = nullptr) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (from != nullptr) {
      sockaddr_in own{};
      own.sin_family = AF_INET;
      ::inet_pton(AF_INET, from, &own.sin_addr);
      if (::bind(socket_, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0) throw std::runtime_error("bind");
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error(std::string("connect: ") + std::strerror(errno));
  }
  RawClient(RawClient&& other) noexcept : socket_(other.socket_), read_(std::move(other.read_)) { other.socket_ = -1; }
  RawClient& operator=(RawClient&&) = delete;
  ~RawClient() { close(); }

  int descriptor() const noexcept { return socket_; }

  /// Returns whether all of it was sent.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_sending() { ::shutdown(socket_, SHUT_WR); }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }

  /// Reads what comes next; "" at the end, or if nothing comes in time.
  std::string receive(std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) return {};
    char part[16384];
    const ssize_t bytes = ::recv(socket_, part, sizeof part, 0);
    if (bytes <= 0) {
      ended_ = true;
      return {};
    }
    return {part, static_cast<std::size_t>(bytes)};
  }
  /// Returns whether the server has ended the connection, after dropping what it still sent.
  bool ends(std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    while (!ended_ && !receive(patience).empty()) {
    }
    return ended_;
  }

  /// Reads one whole answer. Its status is 0 if none comes.
  RawAnswer answer(bool without_body = false) {
    RawAnswer answer;
    const std::string head = take_until("\r\n\r\n");
    if (head.empty()) return answer;
    answer.status = std::stoi(head.substr(head.find(' ') + 1, 3));
    for (std::size_t begin = head.find("\r\n") + 2; begin + 2 < head.size();) {
      const std::size_t end = head.find("\r\n", begin), colon = head.find(':', begin);
      std::string name = head.substr(begin, colon - begin);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      answer.fields[name] = head.substr(colon + 2, end - colon - 2);
      begin = end + 2;
    }
    if (without_body || answer.status == 100 || answer.status == 204) return answer;
    if (answer.fields["transfer-encoding"] == "chunked") {
      while (true) {
        const std::size_t size = std::stoul("0" + take_until("\r\n"), nullptr, 16);
        answer.body += take(size);
        take(2);
        if (size == 0) return answer;
      }
    }
    if (answer.fields.count("content-length") != 0)
      answer.body = take(std::stoul(answer.fields["content-length"]));
    else
      answer.body = rest();
    return answer;
  }

  /// Reads up to and with `mark`; "" if it does not come.
  std::string take_until(std::string_view mark) {
    while (read_.find(mark) == std::string::npos)
      if (!fill()) return {};
    return take(read_.find(mark) + mark.size());
  }

 private:
  bool fill() {
    const std::string part = receive();
    read_ += part;
    return !part.empty();
  }
  std::string rest() {
    while (fill()) {
    }
    return take(read_.size());
  }
  std::string take(std::size_t bytes) {
    while (read_.size() < bytes && fill()) {
    }
    std::string taken = read_.substr(0, bytes);
    read_.erase(0, bytes);
    return taken;
  }

  int socket_;
  std::string read_;
  bool ended_ = false;
};

}  // namespace dragoman::testing
