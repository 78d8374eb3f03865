#include "error_message.h"
#include "server_fixture.h"
#include "test_data.h"

#include <cstdio>
#include <fstream>
#include <memory>

#include <gmock/gmock.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace dragoman::testing {
namespace {

using namespace server::http;
using ::testing::HasSubstr;

/// A key and a certificate that it has signed itself, as PEM files.
void make_certificate(const std::string& certificate, const std::string& key, const char* name) {
  EVP_PKEY* pair = EVP_EC_gen("P-256");
  X509* made = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
  X509_gmtime_adj(X509_getm_notBefore(made), 0);
  X509_gmtime_adj(X509_getm_notAfter(made), 3600);
  X509_set_pubkey(made, pair);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_issuer_name(made, X509_get_subject_name(made));
  X509_sign(made, pair, EVP_sha256());
  std::FILE* file = std::fopen(certificate.c_str(), "w");
  PEM_write_X509(file, made);
  std::fclose(file);
  file = std::fopen(key.c_str(), "w");
  PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  X509_free(made);
  EVP_PKEY_free(pair);
}

class TlsClient {
 public:
  explicit TlsClient(int port) : raw_(port), context_(SSL_CTX_new(TLS_client_method())), tls_(SSL_new(context_)) {
    SSL_set_fd(tls_, raw_.descriptor());
    connected = SSL_connect(tls_) == 1;
  }
  ~TlsClient() {
    SSL_free(tls_);
    SSL_CTX_free(context_);
  }
  bool send(std::string_view bytes) { return SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())) > 0; }
  std::string read_until(std::string_view mark) {
    std::string text;
    char part[4096];
    while (text.find(mark) == std::string::npos) {
      const int bytes = SSL_read(tls_, part, sizeof part);
      if (bytes <= 0) break;
      text.append(part, static_cast<std::size_t>(bytes));
    }
    return text;
  }
  /// Whether the server has said farewell, as TLS requires, so that nobody can cut an answer unnoticed.
  bool ends_cleanly() {
    char byte;
    return SSL_read(tls_, &byte, 1) == 0 && SSL_get_error(tls_, 0) == SSL_ERROR_ZERO_RETURN;
  }
  std::string name() const {
    X509* certificate = SSL_get1_peer_certificate(tls_);
    char text[256] = {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text, sizeof text);
    X509_free(certificate);
    return text;
  }
  void leave() { raw_.close(); }
  int version() const { return SSL_version(tls_); }

  bool connected = false;

 private:
  RawClient raw_;
  SSL_CTX* context_;
  SSL* tls_;
};

class TlsTest : public ServerFixture {
 protected:
  void SetUp() override { make_certificate(certificate_, key_, "first"); }
  void start_tls(const Limits& limits = {}) {
    start({.limits = limits, .certificate = certificate_, .private_key = key_});
  }

  TemporaryFolder folder_;
  std::string certificate_ = folder_ / "certificate.pem";
  std::string key_ = folder_ / "key.pem";
};

TEST_F(TlsTest, ServesRequestsAndSaysFarewell) {
  start_tls();
  EXPECT_EQ(server_->urls().at(0), "https://127.0.0.1:" + std::to_string(server_->port()));
  TlsClient one(server_->port());
  ASSERT_TRUE(one.connected);
  EXPECT_GE(one.version(), TLS1_2_VERSION);
  one.send(post("/echo", "hello") + get("/second", "Connection: close\r\n"));
  EXPECT_THAT(one.read_until("GET /second\n"), HasSubstr("POST /echo\nhello"));
  EXPECT_TRUE(one.ends_cleanly());
}

TEST_F(TlsTest, LargeAnswersAndStreamsArriveWhole) {
  start_tls();
  TlsClient one(server_->port());
  one.send(post("/large", "3000000") + get("/held"));
  EXPECT_TRUE(held().request.secure);
  Stream stream = held().reply.begin({.body = "streamed"});
  stream.finish();
  const std::string text = one.read_until("0\r\n\r\n");
  EXPECT_GT(text.size(), 3'000'000u);
  EXPECT_THAT(text.substr(text.size() - 300), HasSubstr("streamed"));
}

TEST_F(TlsTest, LeavingStopsARequest) {
  start_tls();
  TlsClient one(server_->port());
  one.send(get("/held"));
  Held& request = held();
  one.leave();
  EXPECT_TRUE(eventually([&] { return request.request.gone.stop_requested(); }));
  request.reply.send({});
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(TlsTest, SlowAndPlainClientsAreCutOff) {
  Limits limits;
  limits.head_time = Limits::Seconds(0.3);
  start_tls(limits);
  RawClient silent = client();
  RawClient plain = client();
  plain.send(get("/a"));
  EXPECT_TRUE(plain.ends());
  EXPECT_TRUE(silent.ends());
  EXPECT_EQ(handled_, 0);
}

TEST_F(TlsTest, TheCertificateIsReadAgain) {
  start_tls();
  TlsClient before(server_->port());
  EXPECT_EQ(before.name(), "first");
  make_certificate(certificate_, key_, "second");
  server_->prepare_certificate()();
  TlsClient after(server_->port());
  EXPECT_EQ(after.name(), "second");
  before.send(get("/a"));
  EXPECT_NE(before.read_until("GET /a\n"), "") << "older connections go on";
  std::ofstream(certificate_) << "nonsense";
  EXPECT_THAT(message_of([&] { static_cast<void>(server_->prepare_certificate()); }), HasSubstr("certificate.pem"));
  EXPECT_EQ(TlsClient(server_->port()).name(), "second") << "the last good one stays";
}

TEST_F(TlsTest, FaultsOfTheFilesAreNamed) {
  const auto starting = [&](const std::string& certificate, const std::string& key) {
    return error_of([&] { HttpServer({.certificate = certificate, .private_key = key}, [](Request, Reply) {}); });
  };
  EXPECT_THAT(starting(folder_ / "none.pem", key_), HasSubstr("none.pem"));
  EXPECT_THAT(starting(key_, key_), HasSubstr("key.pem"));
  EXPECT_THAT(starting(certificate_, certificate_), HasSubstr("unencrypted PEM"));
  make_certificate(folder_ / "other.pem", folder_ / "other-key.pem", "other");
  EXPECT_THAT(starting(certificate_, folder_ / "other-key.pem"), HasSubstr("other-key.pem"));
}

}  // namespace
}  // namespace dragoman::testing
