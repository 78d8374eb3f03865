#pragma once

#include "target.h"
#include "tcp_messages.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace dragoman::fuzz {

/// Reads bytes as each of the messages by which processes of a job find each other and give up. True if they are one of
/// them.
inline bool exercise_tcp_messages(std::string_view text) {
  namespace tcp = collective::tcp;
  const tcp::View bytes = std::as_bytes(std::span(text));
  const auto same = [&](const auto& written) { return std::ranges::equal(written, bytes); };
  const bool hello = accepts([&] {
    const tcp::View prefix = bytes.first(std::min(bytes.size(), tcp::kHelloPrefix));
    core::require(prefix.size() == tcp::kHelloPrefix, core::ErrorCode::kBadInput, "short");
    promise(tcp::length_of_hello(prefix) <= tcp::kHelloPrefix + tcp::kLongestHost, "a hello is short");
    promise(same(tcp::encode(tcp::decode_hello(bytes))), "a hello that is read and written is the same");
  });
  const bool welcome = accepts([&] {
    core::require(bytes.size() >= tcp::kWelcomePrefix, core::ErrorCode::kBadInput, "short");
    const tcp::View prefix = bytes.first(tcp::kWelcomePrefix), rest = bytes.subspan(tcp::kWelcomePrefix);
    core::require(tcp::length_of_welcome(prefix) == rest.size(), core::ErrorCode::kBadInput, "another length");
    const tcp::Welcome read = tcp::decode_welcome(prefix, rest);
    const tcp::Bytes again = tcp::encode(read);
    const tcp::View all = again;
    promise(tcp::decode_welcome(all.first(tcp::kWelcomePrefix), all.subspan(tcp::kWelcomePrefix)) == read,
            "a welcome that is written and read is the same");
  });
  const bool frame = accepts([&] {
    core::require(bytes.size() >= tcp::kFrameHeader, core::ErrorCode::kBadInput, "short");
    const tcp::FrameHeader header = tcp::decode_frame_header(bytes.first(tcp::kFrameHeader));
    promise(std::ranges::equal(tcp::encode(header), bytes.first(tcp::kFrameHeader)),
            "a header that is read and written is the same");
    if (header.kind != tcp::FrameHeader::Kind::kAbort) return;
    promise(header.length <= tcp::kLongestReason + 4, "a reason is short");
    core::require(bytes.size() == tcp::kFrameHeader + header.length, core::ErrorCode::kBadInput, "another length");
    const tcp::Abort abort = tcp::decode_abort(bytes.subspan(tcp::kFrameHeader));
    const tcp::Bytes again = tcp::encode(abort);
    promise(tcp::decode_abort(tcp::View(again).subspan(tcp::kFrameHeader)) == abort,
            "a reason that is written and read is the same");
  });
  return hello || welcome || frame;
}

inline Target tcp_messages_target() {
  return {.name = "tcp_messages", .exercise = exercise_tcp_messages};
}

}  // namespace dragoman::fuzz
