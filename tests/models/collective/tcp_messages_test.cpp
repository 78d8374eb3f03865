#include "tcp_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/collective/launch.h>

namespace dragoman::collective::tcp {
namespace {

using ::testing::HasSubstr;

template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kBadInput);
    return error.what();
  }
  return "no error";
}

const Hello kHello{.to_master = false,
                   .rank = 3,
                   .size = 8,
                   .job = 0x0123456789ABCDEF,
                   .token = {std::byte{1}, std::byte{2}},
                   .port = 40000,
                   .host = "node-07"};
const Welcome kWelcome{.token = {std::byte{9}}, .members = {{"10.0.0.1", 0, "a"}, {"fe80::1%eth0", 4242, "b"}}};

TEST(TcpMessages, ComeBackAsTheyWere) {
  const Bytes hello = encode(kHello);
  EXPECT_EQ(length_of_hello(View(hello).first(kHelloPrefix)), hello.size());
  EXPECT_EQ(decode_hello(hello), kHello);
  for (const Welcome& welcome : {kWelcome, Welcome{.refusal = "no"}}) {
    const Bytes bytes = encode(welcome);
    const View prefix = View(bytes).first(kWelcomePrefix), rest = View(bytes).subspan(kWelcomePrefix);
    EXPECT_EQ(length_of_welcome(prefix), rest.size());
    EXPECT_EQ(decode_welcome(prefix, rest), welcome);
  }
  const FrameHeader header{.kind = FrameHeader::Kind::kData, .sequence = 77, .length = std::uint64_t{5} << 32};
  EXPECT_EQ(decode_frame_header(encode(header)), header);
  const Abort abort{core::ErrorCode::kIo, "the disk is full"};
  const Bytes bytes = encode(abort);
  EXPECT_EQ(decode_frame_header(View(bytes).first(kFrameHeader)).kind, FrameHeader::Kind::kAbort);
  EXPECT_EQ(decode_abort(View(bytes).subspan(kFrameHeader)), abort);
}

TEST(TcpMessages, ThatAreCutShortAreRefused) {
  const Bytes hello = encode(kHello);
  for (std::size_t length = 0; length < hello.size(); ++length)
    EXPECT_NE(error_of([&] { decode_hello(View(hello).first(length)); }), "no error") << length;
  const Bytes welcome = encode(kWelcome);
  const View prefix = View(welcome).first(kWelcomePrefix);
  for (std::size_t length = kWelcomePrefix; length < welcome.size(); ++length)
    EXPECT_NE(error_of([&] { decode_welcome(prefix, View(welcome).first(length).subspan(kWelcomePrefix)); }),
              "no error")
        << length;
}

TEST(TcpMessages, OfAnotherKindOrVersionAreRefused) {
  Bytes hello = encode(kHello);
  hello[8] = std::byte{2};
  EXPECT_THAT(error_of([&] { decode_hello(hello); }), HasSubstr("version 2 of the protocol"));
  hello[8] = std::byte{1};
  hello[12] = std::byte{3};
  EXPECT_THAT(error_of([&] { decode_hello(hello); }), HasSubstr("kind 3"));
  hello[0] = std::byte{'D'};
  EXPECT_THAT(error_of([&] { decode_hello(hello); }), HasSubstr("none of dragoman's messages"));
}

/// No memory is taken for what a stranger claims.
TEST(TcpMessages, ThatClaimTooMuchAreRefused) {
  Bytes welcome = encode(kWelcome);
  for (std::size_t i = 16; i < kWelcomePrefix; ++i) welcome[i] = std::byte{0xFF};
  EXPECT_THAT(error_of([&] { length_of_welcome(View(welcome).first(kWelcomePrefix)); }), HasSubstr("claims to have"));
  welcome = encode(kWelcome);
  for (std::size_t i = 0; i < 4; ++i) welcome[kWelcomePrefix + sizeof(Token) + i] = std::byte{0xFF};
  EXPECT_THAT(
      error_of([&] { decode_welcome(View(welcome).first(kWelcomePrefix), View(welcome).subspan(kWelcomePrefix)); }),
      HasSubstr("a list claims to have 4294967295 processes"));
  auto header = encode(FrameHeader{.kind = FrameHeader::Kind::kAbort, .length = kLongestReason + 5});
  EXPECT_THAT(error_of([&] { decode_frame_header(header); }), HasSubstr("claims to have"));
}

}  // namespace
}  // namespace dragoman::collective::tcp
