#include "request_parser.h"

#include <gtest/gtest.h>

namespace dragoman::server::http {
namespace {

constexpr RequestParser::Bounds kBounds{.head_bytes = 2000, .head_fields = 10, .body_bytes = 50};

struct Outcome {
  int status = 0;  ///< 200: read, 0: incomplete
  std::string text;
  std::size_t rest = 0;
  auto operator<=>(const Outcome&) const = default;
};

/// Feeds `text` in parts of `step` bytes.
Outcome parse(std::string_view text, std::size_t step) {
  RequestParser parser(kBounds);
  std::string input;
  for (std::size_t at = 0; at < text.size(); at += step) {
    input += text.substr(at, step);
    for (std::size_t consumed = 1; consumed != 0;) {
      consumed = parser.put(input);
      input.erase(0, consumed);
    }
  }
  if (parser.state() == RequestParser::State::kFailed) return {parser.status(), parser.reason(), 0};
  if (parser.state() != RequestParser::State::kDone) return {};
  const Request request = parser.take();
  std::string text_of = request.method + " " + request.path;
  for (const auto& [name, value] : request.query) text_of += " " + name + "=" + value;
  return {200, text_of + "|" + request.body, input.size()};
}

/// However the bytes are divided, the outcome is the same.
Outcome parse(std::string_view text) {
  const Outcome whole = parse(text, text.size());
  for (const std::size_t step : {1, 2, 3, 7}) EXPECT_EQ(parse(text, step).status, whole.status) << step << ": " << text;
  if (whole.status == 200) {
    EXPECT_EQ(parse(text, 1).text, whole.text);
  }
  return whole;
}

TEST(RequestParser, ReadsPlainRequests) {
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), (Outcome{200, "GET /|", 0}));
  EXPECT_EQ(parse("\r\nGET /a%20b?q=1+2&%C3%A4=%2B&&x HTTP/1.1\r\nHost: a\r\n\r\n"),
            (Outcome{200, "GET /a b q=1 2 \xC3\xA4=+ x=|", 0}));
  EXPECT_EQ(parse("GET /a HTTP/1.0\r\n\r\n"), (Outcome{200, "GET /a|", 0}));
  EXPECT_EQ(parse("GET http://host:80/a?b HTTP/1.1\r\nHost: a\r\n\r\n"), (Outcome{200, "GET /a b=|", 0}));
  EXPECT_EQ(parse("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), (Outcome{200, "OPTIONS /|", 0}));
  EXPECT_EQ(parse("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET"), (Outcome{200, "POST /a|abc", 3}));
  EXPECT_EQ(
      parse("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\n0A\r\n0123456789\r\n"
            "0\r\nDigest: b\r\n\r\nG"),
      (Outcome{200, "POST /a|abc0123456789", 1}));
}

TEST(RequestParser, RefusesWhatOthersMayReadInAnotherWay) {
  for (const char* head : {
           "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
           "Content-Length: 3\r\nContent-Length: 3\r\n",
           "Content-Length: 3\r\nContent-Length: 4\r\n",
           "Content-Length: 3, 3\r\n",
           "Content-Length: +3\r\n",
           "Content-Length: 0x3\r\n",
           "Content-Length: -1\r\n",
           "Content-Length: \r\n",
           "Content-Length: 99999999999999999999999\r\n",
           "Transfer-Encoding: gzip, chunked\r\n",
           "Transfer-Encoding: chunked, chunked\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: identity\r\n",
           "Transfer-Encoding: xchunked\r\n",
           "Transfer-Encoding : chunked\r\n",
           "Content-Length : 3\r\n",
           "X: a\r\n b\r\n",
           "X: a\r\n\tb\r\n",
           "X: a\nY: b\r\n",
           "X: a\rY: b\r\n",
           "X: a\x01\r\n",
           "X: a\x7f\r\n",
           "X\r\n",
           ": a\r\n",
           "X y: a\r\n",
           "Host: b\r\n",
       })
    EXPECT_EQ(parse("POST / HTTP/1.1\r\nHost: a\r\n" + std::string(head) + "\r\nabc").status, 400) << head;
  using namespace std::string_literals;
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n"s).status, 400);
  EXPECT_EQ(parse("GET / HTTP/1.1\r\n\r\n").status, 400) << "no Host";
  EXPECT_EQ(parse("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").status, 400);
  EXPECT_EQ(parse("GET  / HTTP/1.1\r\nHost: a\r\n\r\n").status, 400);
  EXPECT_EQ(parse("GET / HTTP/1.1 \r\nHost: a\r\n\r\n").status, 400);
  EXPECT_EQ(parse(" GET / HTTP/1.1\r\nHost: a\r\n\r\n").status, 400);
  EXPECT_EQ(parse("GET / HTTP/1.1\r\n Host: a\r\n\r\n").status, 400);
  EXPECT_EQ(parse("G\xC3\xA4T / HTTP/1.1\r\nHost: a\r\n\r\n").status, 400);
  EXPECT_EQ(parse("GET /\r\nHost: a\r\n\r\n").status, 400);
  EXPECT_EQ(parse("GET / HTTP/2.0\r\nHost: a\r\n\r\n").status, 400);
}

TEST(RequestParser, RefusesMalformedChunks) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* body :
       {"g\r\nabc\r\n0\r\n\r\n", "+3\r\nabc\r\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n", "-1\r\nabc\r\n0\r\n\r\n",
        "\r\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "ffffffffffffffffff\r\nabc", "3 x\r\nabc\r\n0\r\n\r\n"})
    EXPECT_EQ(parse(head + body).status / 100, 4) << body;
  EXPECT_EQ(parse(head + "33\r\n").status, 413) << "51 bytes";
  EXPECT_EQ(parse(head + "30\r\n" + std::string(48, 'x') + "\r\n3\r\nabc\r\n0\r\n\r\n").status, 413);
  EXPECT_EQ(parse(head + "3;" + std::string(20000, 'x')).status, 400) << "an endless extension";
  EXPECT_EQ(parse(head + "0\r\nX: " + std::string(20000, 'x')).status, 400) << "endless fields after the body";
}

/// Beast accepts these between the chunks; proxies may end a line there, or move a field into the head.
TEST(RequestParser, RefusesBetweenChunksWhatAHeadMustNotHave) {
  using namespace std::string_literals;
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& extension :
       {"\"a\nb\""s, "\"a\rb\""s, "\"a\r\nb\""s, "\"a\0b\""s, "\"\x1b[31m\""s, "\"\x7f\""s}) {
    EXPECT_EQ(parse(head + "3;x=" + extension + "\r\nabc\r\n0\r\n\r\n").status, 400) << extension;
    EXPECT_EQ(parse(head + "3\r\nabc\r\n1;x=" + extension + "\r\nd\r\n0\r\n\r\n").status, 400) << extension;
    EXPECT_EQ(parse(head + "3\r\nabc\r\n0;x=" + extension + "\r\n\r\n").status, 400) << extension;
  }
  for (const std::string& trailer :
       {"X: y\r\n z\r\n"s, "X: y\r\n\tz\r\n"s, "X: a\nY: b\r\n"s, "X: a\x1b\r\n"s, "X: a\0\r\n"s, " X: a\r\n"s,
        "Host: b\r\n"s, "hOST: b\r\n"s, "Authorization: Bearer x\r\n"s, "X-API-Key: x\r\n"s, "KEY: x\r\n"s,
        "Content-Length: 3\r\n"s, "Content-Type: text/plain\r\n"s, "Transfer-Encoding: chunked\r\n"s,
        "X-Forwarded-For: b\r\n"s})
    EXPECT_EQ(parse(head + "3\r\nabc\r\n0\r\n" + trailer + "\r\n").status, 400) << trailer;
  EXPECT_EQ(parse(head + "3;x=\"a b\tc\";y\r\n\n\r\0\r\n0;z\r\nX: y\tz\r\n\r\n"s), (Outcome{200, "POST /|\n\r\0"s, 0}))
      << "data and plain extensions";
}

TEST(RequestParser, NamesThePlaceOfALineThatIsRefused) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n";
  const auto reason = [&](const std::string& rest) { return parse(head + rest).text; };
  EXPECT_EQ(reason("X: a\nY: b\r\n\r\n"), "a line in the head does not end in CR LF");
  EXPECT_EQ(reason("X: a\rY: b\r\n\r\n"), "a line in the head does not end in CR LF");
  EXPECT_EQ(reason("X: a\r\n b\r\n\r\n"), "a line in the head begins with whitespace; write each field in one line");
  EXPECT_EQ(reason("X: \x1b\r\n\r\n"), "there is a control character in the head");
  EXPECT_EQ(reason("\r\n3;x=\"a\nb\"\r\nabc\r\n0\r\n\r\n"), "a line between the chunks does not end in CR LF");
  EXPECT_EQ(reason("\r\n0\r\nX: a\r\n b\r\n\r\n"),
            "a line between the chunks begins with whitespace; write each field in one line");
  EXPECT_EQ(reason("\r\n3;x=\"\x1b\"\r\nabc\r\n0\r\n\r\n"), "there is a control character between the chunks");
}

TEST(RequestParser, RefusesPathsThatLeaveTheRoot) {
  for (const char* path : {"/../a", "/a/..", "/%2e%2E/a", "/a/%2e", "/a%2f..%2fb", "/%00", "/a%0Ab", "/%", "/%4",
                           "/%4g", "/%ff", "/a#b", "a", "/?%zz", "/?%ff", "ftp://x/"})
    EXPECT_EQ(parse("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n").status, 400) << path;
  EXPECT_EQ(parse("GET /..a/.b/c.. HTTP/1.1\r\nHost: a\r\n\r\n").text, "GET /..a/.b/c..|");
}

TEST(RequestParser, KeepsToItsBounds) {
  EXPECT_EQ(parse("GET /" + std::string(3000, 'a')).status, 414);
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(3000, 'a')).status, 431);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 12; ++i) many += "X: y\r\n";
  EXPECT_EQ(parse(many + "\r\n").status, 431);
  EXPECT_EQ(parse("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 51\r\n\r\n").status, 413);
  EXPECT_EQ(parse("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n").status, 0);
  EXPECT_EQ(parse("POST / HTTP/1.1\r\nHost: a\r\nExpect: magic\r\n\r\n").status, 417);
}

/// A fuzz target found that fields of 64 KB after the last chunk were read if they arrived together, and refused in
/// parts.
TEST(RequestParser, FieldsAfterTheChunksHaveTheSameBoundHoweverTheyArrive) {
  const std::string head = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n";
  for (const std::size_t size : {100U, 8000U, 8160U, 8170U, 8180U, 8190U, 8200U, 20000U, 65000U}) {
    const std::string text = head + "0\r\nX: " + std::string(size, 'x') + "\r\n\r\n";
    const Outcome whole = parse(text, text.size());
    for (const std::size_t step : {1U, 13U, 5000U}) EXPECT_EQ(parse(text, step).status, whole.status) << size;
    if (size <= 8000U || size >= 8200U) {
      EXPECT_EQ(whole.status, size <= 8000U ? 200 : 400) << size;
    }
  }
  // Many small chunks are more than the bound together, and each is not.
  std::string chunks = head;
  for (int i = 0; i < 49; ++i) chunks += "1;" + std::string(1000, 'y') + "\r\nb\r\n";
  EXPECT_EQ(parse(chunks + "0\r\n\r\n").status, 200);
}

TEST(RequestParser, AFieldAfterTheChunksChangesNothing) {
  RequestParser parser(kBounds);
  std::string input =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Plain: k\r\n\r\n";
  for (std::size_t consumed = 1; consumed != 0; input.erase(0, consumed)) consumed = parser.put(input);
  ASSERT_EQ(parser.state(), RequestParser::State::kDone);
  EXPECT_TRUE(parser.keeps_alive());
  EXPECT_FALSE(parser.take().headers.has("x-plain"));
}

}  // namespace
}  // namespace dragoman::server::http
