#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/error.h>

/// What processes say to each other by TCP, as bytes. Whoever can reach a port may send anything, so every reader
/// checks lengths before it takes memory, and answers what is none of ours with Error{kBadInput}. Numbers have their
/// low bytes first.
namespace dragoman::collective::tcp {

inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr std::size_t kLongestHost = 255;
inline constexpr std::size_t kLongestAddress = 64;
inline constexpr std::size_t kLongestReason = 8192;

using Bytes = std::vector<std::byte>;
using View = std::span<const std::byte>;
/// What rank 0 draws for a job, and tells only those that it has let in.
using Token = std::array<std::byte, 16>;

// --- joining ---

/// The first words of a caller: to rank 0, or to another rank by whom rank 0 has let in.
struct Hello {
  bool to_master = true;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::uint64_t job = 0;   ///< fingerprint of Launch::job
  Token token{};           ///< to another rank than 0
  std::uint16_t port = 0;  ///< where the caller listens
  std::string host{};      ///< its machine, for messages
  bool operator==(const Hello&) const = default;
};
inline constexpr std::size_t kHelloPrefix = 52;  ///< before the host's name
Bytes encode(const Hello& hello);
/// The whole length of a hello by its first kHelloPrefix bytes.
std::size_t length_of_hello(View prefix);
Hello decode_hello(View bytes);

struct Member {
  std::string address{};  ///< as numbers
  std::uint16_t port = 0;
  std::string host{};
  bool operator==(const Member&) const = default;
};

/// Rank 0's answer: the list of all by rank, or why the caller is not wanted.
struct Welcome {
  Token token{};
  std::vector<Member> members{};
  std::string refusal{};
  bool operator==(const Welcome&) const = default;
};
inline constexpr std::size_t kWelcomePrefix = 20;
Bytes encode(const Welcome& welcome);
/// Of what follows the prefix.
std::size_t length_of_welcome(View prefix);
/// `prefix` and what follows it.
Welcome decode_welcome(View prefix, View rest);

// --- afterwards ---

/// Goes before each block of data.
struct FrameHeader {
  enum class Kind : std::uint32_t { kData = 1, kAbort = 2 };
  Kind kind = Kind::kData;
  std::uint64_t sequence = 0;  ///< of the exchange
  std::uint64_t length = 0;    ///< of what follows
  bool operator==(const FrameHeader&) const = default;
};
inline constexpr std::size_t kFrameHeader = 24;
std::array<std::byte, kFrameHeader> encode(const FrameHeader& header);
FrameHeader decode_frame_header(View bytes);

/// Why a process gives up; what follows a header of that kind.
struct Abort {
  core::ErrorCode code = core::ErrorCode::kInternal;
  std::string reason{};
  bool operator==(const Abort&) const = default;
};
/// With its header.
Bytes encode(const Abort& abort);
Abort decode_abort(View bytes);

}  // namespace dragoman::collective::tcp
