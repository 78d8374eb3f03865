#include "tcp_messages.h"

#include "dragoman/collective/launch.h"

#include <algorithm>
#include <concepts>
#include <limits>

namespace dragoman::collective::tcp {
namespace {

using core::ErrorCode;

constexpr std::string_view kMagic = "dragoman";
constexpr std::uint32_t kFrameMagic = 0x4D475244;  // "DRGM"

enum class Word : std::uint32_t { kToMaster = 1, kToPeer = 2, kWelcome = 3, kRefusal = 4 };

/// The most that a list of all processes takes.
constexpr std::size_t kLongestList = sizeof(Token) + 4 + kMostProcesses * (4 + kLongestAddress + kLongestHost);

class Writer {
 public:
  template <std::unsigned_integral Number>
  void number(Number value) {
    for (std::size_t i = 0; i < sizeof(Number); ++i)
      bytes.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
  void raw(View data) { bytes.insert(bytes.end(), data.begin(), data.end()); }
  void raw(std::string_view text) { raw(std::as_bytes(std::span(text))); }
  /// With its length before it, in a byte.
  void text(std::string_view text, std::size_t most) {
    text = text.substr(0, most);
    number(static_cast<std::uint8_t>(text.size()));
    raw(text);
  }
  Bytes bytes;
};

class Reader {
 public:
  explicit Reader(View bytes) : rest_(bytes) {}

  View raw(std::size_t count) {
    core::require(rest_.size() >= count, ErrorCode::kBadInput, "a message ends {} bytes too early",
                  count - std::min(count, rest_.size()));
    const View taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  template <std::unsigned_integral Number>
  Number number() {
    std::uint64_t value = 0;
    const View bytes = raw(sizeof(Number));
    for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    return static_cast<Number>(value);
  }
  std::string characters(std::size_t count) {
    const View bytes = raw(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string text() { return characters(number<std::uint8_t>()); }
  Token token() {
    Token token;
    std::ranges::copy(raw(token.size()), token.begin());
    return token;
  }
  std::size_t left() const noexcept { return rest_.size(); }
  void finish() const {
    core::require(rest_.empty(), ErrorCode::kBadInput, "{} bytes follow the end of a message", rest_.size());
  }

 private:
  View rest_;
};

/// Name and version, with which all begins.
void begin(Writer& out, Word word) {
  out.raw(kMagic);
  out.number(kProtocolVersion);
  out.number(static_cast<std::uint32_t>(word));
}

Word read_beginning(Reader& in, Word first, Word last) {
  core::require(in.characters(kMagic.size()) == kMagic, ErrorCode::kBadInput, "that is none of dragoman's messages");
  const auto version = in.number<std::uint32_t>();
  core::require(version == kProtocolVersion, ErrorCode::kBadInput,
                "it speaks version {} of the protocol, and this program version {}; run the same program everywhere",
                version, kProtocolVersion);
  const auto word = in.number<std::uint32_t>();
  core::require(word >= static_cast<std::uint32_t>(first) && word <= static_cast<std::uint32_t>(last),
                ErrorCode::kBadInput, "a message of kind {} is none that may come here", word);
  return static_cast<Word>(word);
}

}  // namespace

Bytes encode(const Hello& hello) {
  Writer out;
  begin(out, hello.to_master ? Word::kToMaster : Word::kToPeer);
  out.number(hello.rank);
  out.number(hello.size);
  out.number(hello.job);
  out.raw(hello.token);
  out.number(hello.port);
  const std::string_view host = std::string_view(hello.host).substr(0, kLongestHost);
  out.number(static_cast<std::uint16_t>(host.size()));
  out.raw(host);
  return std::move(out.bytes);
}

std::size_t length_of_hello(View prefix) {
  Reader in(prefix.first(kHelloPrefix));
  read_beginning(in, Word::kToMaster, Word::kToPeer);
  in.raw(kHelloPrefix - 16 - 2);
  const auto host = in.number<std::uint16_t>();
  core::require(host <= kLongestHost, ErrorCode::kBadInput, "the name of a host has {} bytes; {} is the most", host,
                kLongestHost);
  return kHelloPrefix + host;
}

Hello decode_hello(View bytes) {
  Reader in(bytes);
  Hello hello;
  hello.to_master = read_beginning(in, Word::kToMaster, Word::kToPeer) == Word::kToMaster;
  hello.rank = in.number<std::uint32_t>();
  hello.size = in.number<std::uint32_t>();
  hello.job = in.number<std::uint64_t>();
  hello.token = in.token();
  hello.port = in.number<std::uint16_t>();
  const auto host = in.number<std::uint16_t>();
  core::require(host <= kLongestHost, ErrorCode::kBadInput, "the name of a host has {} bytes; {} is the most", host,
                kLongestHost);
  hello.host = in.characters(host);
  in.finish();
  return hello;
}

Bytes encode(const Welcome& welcome) {
  Writer rest;
  if (!welcome.refusal.empty()) {
    rest.raw(std::string_view(welcome.refusal).substr(0, kLongestReason));
  } else {
    rest.raw(welcome.token);
    rest.number(static_cast<std::uint32_t>(welcome.members.size()));
    for (const Member& member : welcome.members) {
      rest.number(member.port);
      rest.text(member.address, kLongestAddress);
      rest.text(member.host, kLongestHost);
    }
  }
  Writer out;
  begin(out, welcome.refusal.empty() ? Word::kWelcome : Word::kRefusal);
  out.number(static_cast<std::uint32_t>(rest.bytes.size()));
  out.raw(rest.bytes);
  return std::move(out.bytes);
}

std::size_t length_of_welcome(View prefix) {
  Reader in(prefix.first(kWelcomePrefix));
  const Word word = read_beginning(in, Word::kWelcome, Word::kRefusal);
  const auto length = in.number<std::uint32_t>();
  const std::size_t most = word == Word::kWelcome ? kLongestList : kLongestReason;
  core::require(length <= most, ErrorCode::kBadInput, "a message claims to have {} bytes; {} is the most", length,
                most);
  return length;
}

Welcome decode_welcome(View prefix, View rest) {
  Reader head(prefix);
  const Word word = read_beginning(head, Word::kWelcome, Word::kRefusal);
  Reader in(rest);
  Welcome welcome;
  if (word == Word::kRefusal) {
    welcome.refusal = in.characters(rest.size());
    if (welcome.refusal.empty()) welcome.refusal = "it gives no reason";
    return welcome;
  }
  welcome.token = in.token();
  const auto count = in.number<std::uint32_t>();
  // Each takes four bytes at least.
  core::require(count <= kMostProcesses && count <= in.left() / 4, ErrorCode::kBadInput,
                "a list claims to have {} processes in {} bytes", count, in.left());
  for (std::uint32_t i = 0; i < count; ++i) {
    Member member;
    member.port = in.number<std::uint16_t>();
    member.address = in.text();
    core::require(member.address.size() <= kLongestAddress, ErrorCode::kBadInput, "an address has {} bytes",
                  member.address.size());
    member.host = in.text();
    welcome.members.push_back(std::move(member));
  }
  in.finish();
  return welcome;
}

std::array<std::byte, kFrameHeader> encode(const FrameHeader& header) {
  Writer out;
  out.number(kFrameMagic);
  out.number(static_cast<std::uint32_t>(header.kind));
  out.number(header.sequence);
  out.number(header.length);
  std::array<std::byte, kFrameHeader> bytes{};
  std::ranges::copy(out.bytes, bytes.begin());
  return bytes;
}

FrameHeader decode_frame_header(View bytes) {
  Reader in(bytes);
  core::require(in.number<std::uint32_t>() == kFrameMagic, ErrorCode::kBadInput, "that is no frame of dragoman's");
  FrameHeader header;
  const auto kind = in.number<std::uint32_t>();
  core::require(kind == 1 || kind == 2, ErrorCode::kBadInput, "a frame of kind {} is none that there is", kind);
  header.kind = static_cast<FrameHeader::Kind>(kind);
  header.sequence = in.number<std::uint64_t>();
  header.length = in.number<std::uint64_t>();
  const std::uint64_t least = header.kind == FrameHeader::Kind::kAbort ? sizeof(std::uint32_t) : 0;
  const std::uint64_t most = header.kind == FrameHeader::Kind::kAbort ? kLongestReason + sizeof(std::uint32_t)
                                                                      : std::numeric_limits<std::int64_t>::max();
  core::require(header.length >= least && header.length <= most, ErrorCode::kBadInput,
                "a frame claims to have {} bytes", header.length);
  in.finish();
  return header;
}

Bytes encode(const Abort& abort) {
  const std::string_view reason = std::string_view(abort.reason).substr(0, kLongestReason);
  Writer out;
  out.raw(encode(FrameHeader{.kind = FrameHeader::Kind::kAbort, .length = reason.size() + sizeof(std::uint32_t)}));
  out.number(static_cast<std::uint32_t>(abort.code));
  out.raw(reason);
  return std::move(out.bytes);
}

Abort decode_abort(View bytes) {
  Reader in(bytes);
  const auto code = in.number<std::uint32_t>();
  core::require(code <= static_cast<std::uint32_t>(ErrorCode::kInternal), ErrorCode::kBadInput,
                "an error of kind {} is none that there is", code);
  return {static_cast<ErrorCode>(code), in.characters(in.left())};
}

}  // namespace dragoman::collective::tcp
