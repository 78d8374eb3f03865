#include "error_message.h"
#include "test_data.h"
#include "token_buckets.h"

#include <fstream>
#include <future>

#include <gmock/gmock.h>

#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/server/keys.h>
#include <dragoman/server/line_writer.h>
#include <dragoman/server/server_options.h>

namespace dragoman::testing {
namespace {

using namespace server;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(TokenBuckets, ABucketHoldsAMinuteAndFillsEvenly) {
  TokenBuckets buckets(10);
  const auto start = TokenBuckets::Clock::now();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(buckets.take("a", 6, start), 0s);
  const auto wait = buckets.take("a", 6, start);
  EXPECT_GT(wait, 9900ms);
  EXPECT_LT(wait, 10100ms);
  EXPECT_EQ(buckets.take("b", 6, start), 0s) << "another caller";
  EXPECT_GT(buckets.take("a", 6, start + 9s), 0s);
  EXPECT_EQ(buckets.take("a", 6, start + 11s), 0s);
  EXPECT_GT(buckets.take("a", 6, start + 11s), 0s);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(buckets.take("a", 6, start + 1h), 0s);
  EXPECT_GT(buckets.take("a", 6, start + 1h), 0s) << "an hour fills no more than a minute";
}

TEST(TokenBuckets, MemoryIsBounded) {
  TokenBuckets buckets(100);
  const auto start = TokenBuckets::Clock::now();
  EXPECT_EQ(buckets.take("regular", 1, start), 0s);
  for (int i = 0; i < 10'000; ++i) {
    buckets.take("stranger " + std::to_string(i), 1, start);
    EXPECT_GT(buckets.take("regular", 1, start), 0s) << "who comes often is not forgotten";
  }
  EXPECT_EQ(buckets.size(), 100u);
}

TEST(Keys, TheFileHasHashesOnly) {
  const TemporaryFolder folder;
  const std::string file = folder / "keys.yml";
  const std::string first = add_key(file, {.name = "first: \"one\"", .requests_per_minute = 5, .character_limit = 6});
  const std::string second = add_key(file, {.name = "second"});
  EXPECT_EQ(first.size(), 35u);
  EXPECT_NE(first, second);
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text.find(first.substr(3)), std::string::npos);
  const Keys keys = Keys::read(file);
  EXPECT_EQ(keys.size(), 2u);
  const Key* found = keys.find(first);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->name, "first: \"one\"");
  EXPECT_EQ(found->requests_per_minute, 5);
  EXPECT_EQ(found->character_limit, 6u);
  EXPECT_EQ(keys.find(""), nullptr);
  EXPECT_EQ(keys.find(first + " "), nullptr);
  EXPECT_EQ(keys.find(std::string(1'000'000, 'x')), nullptr);
  EXPECT_THAT(error_of([&] { add_key(file, {.name = "second"}); }), HasSubstr("has a key of the name 'second'"));
}

/// The hash of a published example (FIPS 180-2, appendix B.1).
TEST(Keys, HashesAreSha256) {
  const TemporaryFolder folder;
  const std::string file = folder / "keys.yml";
  std::ofstream(file) << "keys:\n- name: a\n  sha256: "
                         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
  EXPECT_NE(Keys::read(file).find("abc"), nullptr);
}

TEST(Keys, FaultsOfTheFileAreNamed) {
  const TemporaryFolder folder;
  const std::string file = folder / "keys.yml";
  const auto reading = [&](const std::string& text) {
    std::ofstream(file) << text;
    return error_of([&] { Keys::read(file); });
  };
  EXPECT_THAT(reading("keys: [{name: a, sha256: abc}]"), HasSubstr("keys.yml: keys[0]: sha256: must be 64"));
  EXPECT_THAT(reading("keys: [{sha256: abc}]"), HasSubstr("name: is missing"));
  EXPECT_THAT(reading("keys: [{name: a, sha: abc}]"), HasSubstr("sha"));
  EXPECT_THAT(reading("keys: 3"), HasSubstr("must be a list"));
  EXPECT_THAT(reading("keys: [a]"), HasSubstr("must be an object"));
  const std::string hash(64, 'a');
  EXPECT_THAT(reading("keys: [{name: a, sha256: " + hash + "}, {name: b, sha256: " + hash + "}]"), HasSubstr("twice"));
  EXPECT_EQ(reading("keys: []"), "no error");
  EXPECT_EQ(reading(""), "no error");
}

TEST(Keys, SecretsAreComparedWhole) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "ab"));
  EXPECT_TRUE(same_secret("", ""));
}

TEST(ServerOptions, AreReadFromATree) {
  const core::Json tree = core::parse_yaml(
      "model: {de-en: models/de-en, en-de: other}\nport: 0\nbody_size: 1MiB\nallow_origin: '*'\nlog: none\n", "s.yml");
  const ServerOptions options = read_server_options(tree, "s.yml");
  EXPECT_THAT(options.models, ::testing::ElementsAre("de-en=models/de-en", "en-de=other"));
  EXPECT_EQ(options.port, 0);
  EXPECT_EQ(options.host, "127.0.0.1");
  EXPECT_EQ(options.log, LogFormat::kNone);
  EXPECT_EQ(http_limits(options).body_bytes, 1024u * 1024u);
  EXPECT_EQ(http_limits({}).body_bytes, http::Limits{}.body_bytes);
}

TEST(ServerOptions, FaultsAreNamed) {
  const auto reading = [](const std::string& text) {
    return error_of([&] { read_server_options(core::parse_yaml(text, "s.yml"), "s.yml"); });
  };
  EXPECT_THAT(reading("prot: 5"), HasSubstr("s.yml: unknown key 'prot'"));
  EXPECT_THAT(reading("port: 70000"), HasSubstr("port"));
  EXPECT_THAT(reading("body_size: 5"), HasSubstr("body_size"));
  EXPECT_THAT(reading("tls_key: k.pem"), HasSubstr("tls_key: needs `tls_certificate`"));
  EXPECT_THAT(reading("tls_certificate: c.pem"), HasSubstr("tls_certificate: needs `tls_key`"));
  EXPECT_THAT(reading("keys_optional: true"), HasSubstr("`keys`"));
  EXPECT_THAT(reading("allow_origin: example.org"), HasSubstr("https://example.org"));
  EXPECT_THAT(reading("model: [3]"), HasSubstr("model"));
}

TEST(ServerOptions, AddressesAreChecked) {
  const auto reading = [](const std::string& text) {
    return error_of([&] { read_server_options(core::parse_yaml(text, "s.yml"), "s.yml"); });
  };
  for (const char* host : {"''", "'a b'", "'http://127.0.0.1'", "'localhost:5000'", "'[::1]'", "'127.0.0.1/8'"})
    EXPECT_THAT(reading(std::string("host: ") + host), HasSubstr("s.yml: host: must be a name or an address")) << host;
  for (const char* host : {"localhost", "0.0.0.0", "'::'", "translate-1.example.org", "'fe80::1%eth0'"})
    EXPECT_EQ(reading(std::string("host: ") + host), "no error") << host;
  for (const char* proxy : {"x", "''", "localhost", "10.0.0.0/8", "'127.0.0.1:80'", "'[::1]'"})
    EXPECT_THAT(reading(std::string("trusted_proxy: ") + proxy), HasSubstr("trusted_proxy: must be an IP address"))
        << proxy;
  for (const char* url : {"javascript:alert(1)", "translate.example.org", "'https://'", "'https://a b'", "ftp://a.org",
                          "https://user:pass@a.org", "'https://a.org/?q=1'", "'https://a.org/#x'", "https://a.org:port",
                          "https://a.org:99999"})
    EXPECT_THAT(reading(std::string("public_url: ") + url), HasSubstr("public_url: must be")) << url;
  for (const char* url : {"https://a.org", "http://127.0.0.1:5000", "'https://[::1]:80/translate/'"})
    EXPECT_EQ(reading(std::string("public_url: ") + url), "no error") << url;
  for (const char* link : {"javascript:alert(1)", "example.org", "'mailto:'", "'mailto:a b'"})
    EXPECT_THAT(reading(std::string("key_link: ") + link), HasSubstr("key_link: must be")) << link;
  for (const char* link : {"'https://a.org/keys?x=1#y'", "mailto:me@a.org"})
    EXPECT_EQ(reading(std::string("key_link: ") + link), "no error") << link;
  for (const char* origin : {"x://", "https://a.org/path", "https://a.org/", "HTTPS://a.org", "https://A.org",
                             "https://a.org:443", "'https://a b'", "'https://*.a.org'", "'null'"})
    EXPECT_THAT(reading(std::string("allow_origin: ") + origin), HasSubstr("allow_origin: must be * or an origin"))
        << origin;
  for (const char* origin : {"https://a.org", "http://localhost:3000", "'http://[::1]:8080'", "moz-extension://1-2-3"})
    EXPECT_EQ(reading(std::string("allow_origin: ") + origin), "no error") << origin;
}

TEST(ServerOptions, AddressesAreSpelledAsTheServerComparesThem) {
  const ServerOptions options = read_server_options(
      core::parse_yaml("trusted_proxy: ['0:0::0001', '::ffff:10.0.0.1']\npublic_url: https://a.org/t/\n", "s"), "s");
  EXPECT_THAT(options.trusted_proxies, ::testing::ElementsAre("::1", "10.0.0.1"));
  EXPECT_EQ(options.public_url, "https://a.org/t");
}

/// Every row of the table has a member: what is written there is read.
TEST(ServerOptions, DefaultsOfTheTableAreThoseOfTheStruct) {
  core::Json written = core::Json::object();
  server_option_table().write(ServerOptions{}, written);
  const ServerOptions options = read_server_options(written, "defaults");
  core::Json again = core::Json::object();
  server_option_table().write(options, again);
  EXPECT_EQ(written, again);
}

TEST(LineWriter, WritesAllLinesInOrder) {
  std::string text;
  {
    LineWriter writer([&](std::string_view lines) { text += lines; });
    for (int i = 0; i < 1000; ++i) writer.write(std::to_string(i));
  }
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(text, expected);
}

TEST(LineWriter, ABlockedSinkStopsNobody) {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::string text;
  {
    LineWriter writer([&](std::string_view lines) {
      released.wait();
      text += lines;
    });
    const std::string line(1000, 'x');
    for (int i = 0; i < 5000; ++i) writer.write(line);
    release.set_value();
  }
  EXPECT_LT(text.size(), 3 * LineWriter::kMaxBytes);
  EXPECT_THAT(text, HasSubstr("{\"dropped_lines\":"));
}

}  // namespace
}  // namespace dragoman::testing
