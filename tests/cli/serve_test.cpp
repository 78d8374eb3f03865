// The command `serve` as a process: its address, signals, keys and options. tests/server has the rest.
#include "../server/http/raw_client.h"
#include "program.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

/// The server as a child, whose first line of output is its URL.
class ServerProcess final : public ChildProcess {
 public:
  ServerProcess(const std::filesystem::path& folder, std::vector<std::string> arguments)
      : ChildProcess(folder / "server-stderr.txt"), output_file_(folder / "server-stdout.txt") {
    std::string program = built("program");
    arguments.insert(arguments.begin(), {"serve", "--port", "0", "--threads", "1"});
    std::vector<char*> argv{program.data()};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    std::filesystem::remove(output_file_);
    pid_ = ::fork();
    if (pid_ == 0) {
      stop_ignoring_signals();
      ::dup2(::open(output_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
      ::dup2(::open(error_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    eventually([&] { return file_content(output_file_).ends_with('\n') || has_ended(); });
    const std::string url = file_content(output_file_);
    if (const std::size_t colon = url.rfind(':'); colon != std::string::npos) port = std::stoi(url.substr(colon + 1));
    EXPECT_NE(port, 0) << error();
  }

  int port = 0;

 private:
  bool has_ended() const {
    return ::waitid(P_PID, static_cast<id_t>(pid_), &ended_, WEXITED | WNOHANG | WNOWAIT) == 0 && ended_.si_pid != 0;
  }

  mutable siginfo_t ended_{};
  std::filesystem::path output_file_;
};

class ServeTest : public ::testing::Test {
 protected:
  static RawAnswer ask(int port, std::string_view path, std::string_view body, std::string_view more = {}) {
    RawClient client(port);
    client.send("POST " + std::string(path) + " HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n" +
                std::string(more) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
    return client.answer();
  }

  TemporaryFolder folder_;
  const std::string model_ = "de-en=" + (source_folder() / "examples/multi30k/model").string();
  static constexpr std::string_view kRequest = R"({"q": "Zwei Kinder spielen.", "source": "de", "target": "en"})";
};

TEST_F(ServeTest, TranslatesUntilItIsTerminated) {
  ServerProcess server(folder_.path(), {"--model", model_});
  const RawAnswer answer = ask(server.port, "/translate", kRequest);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("children"));
  EXPECT_EQ(ask(server.port, "/nothing", "").status, 404);
  EXPECT_EQ(ask(server.port, "/translate", "{").status, 400);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0) << server.error();
  EXPECT_THAT(server.error(), HasSubstr("\"route\":\"/translate\",\"status\":200"));
  EXPECT_EQ(server.error().find("Kinder"), std::string::npos) << "texts are not logged";
}

/// docs/concepts/security.md: unless the operator passes another address, nobody else can connect.
TEST_F(ServeTest, ListensAtTheLoopbackAddress) {
  const ServerProcess server(folder_.path(), {"--model", model_});
  std::ifstream sockets("/proc/" + std::to_string(server.pid()) + "/net/tcp");
  const std::string port = fmt::format("{:04X}", server.port);
  std::vector<std::string> addresses;
  for (std::string line; std::getline(sockets, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state;
    words >> number >> local >> remote >> state;
    if (state == "0A" && local.ends_with(":" + port)) addresses.push_back(local);
  }
  EXPECT_THAT(addresses, ::testing::ElementsAre("0100007F:" + port)) << "127.0.0.1, as the kernel shows it";
  EXPECT_THAT(file_content("/proc/" + std::to_string(server.pid()) + "/net/tcp6"),
              ::testing::Not(HasSubstr("00000000000000000000000000000000:" + port)));
}

/// Neither answers nor errors show where models, keys or the program are.
TEST_F(ServeTest, AnswersNameNoFiles) {
  std::filesystem::copy(source_folder() / "examples/multi30k/model", folder_ / "hidden-model");
  std::ofstream(folder_ / "hidden-server.yml") << "model: {de-en: " << (folder_ / "hidden-model").string() << "}\n";
  ServerProcess server(folder_.path(), {"--config", folder_ / "hidden-server.yml", "--admin-token", "t"});
  const auto expect_none = [&](const std::string& answer, const std::string& request) {
    for (const std::string& place : {std::string("hidden-"), folder_.path().string(), std::string("model.safetensors"),
                                     source_folder().string(), std::string("/proc/")})
      EXPECT_EQ(answer.find(place), std::string::npos) << request << ": " << answer.substr(0, 500);
  };
  for (const std::string path : {"/", "/languages", "/frontend/settings", "/health", "/spec", "/metrics", "/v1/models",
                                 "/v1/languages", "/v2/languages", "/v2/usage", "/openapi.json", "/missing",
                                 "/../../etc/passwd", "/translate", "/download_file/x"}) {
    RawClient client(server.port);
    client.send("GET " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    const RawAnswer answer = client.answer();
    expect_none(answer.body, path);
    for (const auto& [name, value] : answer.fields) expect_none(value, fmt::format("{} {}", path, name));
  }
  for (const std::string path : {"/translate", "/v1/translate", "/v2/translate", "/detect", "/suggest", "/nothing"})
    for (const std::string& body : {std::string(kRequest), std::string("{"), std::string("{}"),
                                    std::string(R"({"q": 1, "source": "xx", "target": "yy"})"),
                                    std::string(R"({"texts": ["a"], "source": "de", "target": "en", "model": "x"})"),
                                    std::string(R"({"text": ["a"], "target_lang": "XX"})")})
      expect_none(ask(server.port, path, body).body, fmt::format("{} {}", path, body));
  // The message of a reload that fails names the file, to the operator alone.
  std::filesystem::remove_all(folder_ / "hidden-model");
  const RawAnswer failed = ask(server.port, "/admin/reload", "", "Authorization: Bearer t\r\n");
  EXPECT_EQ(failed.status, 500);
  expect_none(failed.body, "/admin/reload");
  EXPECT_THAT(server.error(), HasSubstr("hidden-model"));
}

/// A request whose body is still arriving is finished; a second signal ends the server at once.
TEST_F(ServeTest, FinishesRequestsInFlight) {
  ServerProcess server(folder_.path(), {"--model", model_});
  RawClient client(server.port);
  client.send("POST /translate HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: " +
              std::to_string(kRequest.size()) + "\r\n\r\n" + std::string(kRequest.substr(0, 10)));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server.signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return server.error().find("stopping") != std::string::npos; }));
  client.send(kRequest.substr(10));
  const RawAnswer answer = client.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.fields.at("connection"), "close");
  client.close();
  EXPECT_EQ(server.wait(), 0) << server.error();
}

TEST_F(ServeTest, ASecondSignalEndsItAtOnce) {
  ServerProcess server(folder_.path(), {"--model", model_});
  RawClient client(server.port);
  client.send("POST /translate HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server.signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return server.error().find("stopping") != std::string::npos; }));
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 128 + SIGTERM);
}

TEST_F(ServeTest, ReloadsOnSighup) {
  ServerProcess server(folder_.path(), {"--model", model_});
  server.signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return server.error().find("reloaded") != std::string::npos; })) << server.error();
  EXPECT_EQ(ask(server.port, "/translate", kRequest).status, 200);
  server.signal(SIGINT);
  EXPECT_EQ(server.wait(), 0);
}

/// Models take seconds to load, so the other files are read before them, and a fault in one changes nothing.
TEST_F(ServeTest, AReloadIsWholeOrNothing) {
  std::filesystem::copy(source_folder() / "examples/multi30k/model", folder_ / "model");
  const Outcome made = run_dragoman(folder_.path(), "serve --keys keys.yml --make-key alice");
  const std::string key = "X-API-Key: " + made.output.substr(0, made.output.size() - 1) + "\r\n";
  ServerProcess server(folder_.path(), {"--model", "de-en=" + (folder_ / "model").string(), "--keys",
                                        folder_ / "keys.yml", "--admin-token", "t"});
  std::filesystem::remove_all(folder_ / "model");
  std::filesystem::rename(folder_ / "keys.yml", folder_ / "kept.yml");
  std::ofstream(folder_ / "keys.yml") << "keys: []\n";
  EXPECT_EQ(ask(server.port, "/admin/reload", "", "Authorization: Bearer t\r\n").status, 500);
  EXPECT_EQ(ask(server.port, "/translate", kRequest, key).status, 200) << "the old keys and models stay";
  EXPECT_THAT(server.error(), HasSubstr("the reload failed; models, keys and certificate stay as they were: "));
  std::ofstream(folder_ / "keys.yml") << "nonsense";
  EXPECT_EQ(ask(server.port, "/admin/reload", "", "Authorization: Bearer t\r\n").status, 500);
  EXPECT_THAT(server.error(), HasSubstr("keys.yml"));
  EXPECT_EQ(ask(server.port, "/translate", kRequest, key).status, 200);
}

/// The model is one whose loading would fail: the other fault is reported first.
TEST_F(ServeTest, SmallFilesAreReadBeforeModels) {
  std::filesystem::create_directory(folder_ / "no-model");
  const auto error_of = [&](const std::string& arguments) {
    return run_dragoman(folder_.path(), "serve --port 0 --model de-en=no-model " + arguments).error;
  };
  EXPECT_THAT(error_of(""), HasSubstr("no-model"));
  EXPECT_THAT(error_of("--keys missing.yml"), HasSubstr("missing.yml"));
  EXPECT_THAT(error_of("--tls-certificate missing.pem --tls-key missing.pem"), HasSubstr("missing.pem"));
  EXPECT_THAT(error_of("--host 192.0.2.77"), HasSubstr("--host"));
  EXPECT_THAT(error_of("--model en-de=missing-model"), HasSubstr("missing-model"));
  EXPECT_THAT(error_of("--trusted-proxy x"), HasSubstr("--trusted-proxy: must be an IP address"));
}

TEST_F(ServeTest, KeysAreMadeAndNeeded) {
  const Outcome made = run_dragoman(folder_.path(), "serve --keys keys.yml --make-key alice --requests-per-minute 2");
  ASSERT_EQ(made.status, 0) << made.error;
  std::string key = made.output;
  ASSERT_EQ(key.size(), 36u);
  key.pop_back();
  ServerProcess server(folder_.path(), {"--model", model_, "--keys", folder_ / "keys.yml"});
  EXPECT_EQ(ask(server.port, "/v1/translate", "{}").status, 401);
  EXPECT_EQ(ask(server.port, "/translate", kRequest, "X-API-Key: " + key + "x\r\n").status, 403);
  const std::string with_key = R"({"q": "Hallo", "source": "de", "target": "en", "api_key": ")" + key + "\"}";
  EXPECT_EQ(ask(server.port, "/translate", with_key).status, 200);
  EXPECT_EQ(ask(server.port, "/translate", kRequest, "X-API-Key: " + key + "\r\n").status, 200);
  const RawAnswer many = ask(server.port, "/translate", with_key);
  EXPECT_EQ(many.status, 429);
  EXPECT_EQ(many.fields.count("retry-after"), 1u);
}

TEST_F(ServeTest, SuggestionsAreAppendedToAFile) {
  ServerProcess server(folder_.path(), {"--model", model_, "--suggestions", folder_ / "suggestions.jsonl"});
  const std::string body = R"({"q": "Hund", "s": "hound", "source": "de", "target": "en"})";
  EXPECT_EQ(ask(server.port, "/suggest", body).status, 200);
  EXPECT_THAT(file_content(folder_ / "suggestions.jsonl"), HasSubstr("\"translation\":\"hound\""));
  const auto error_of = [&](const std::string& arguments) {
    return run_dragoman(folder_.path(), "serve --port 0 --model " + model_ + " " + arguments).error;
  };
  std::ofstream(folder_ / "keys.yml") << "keys: []\n";
  EXPECT_THAT(error_of("--keys keys.yml --suggestions keys.yml"), HasSubstr("--suggestions"));
  EXPECT_THAT(error_of("--suggestions /nothing/here"), HasSubstr("/nothing/here: cannot be opened"));
}

/// Suggestions are appended, so they would damage the file of a model at the first one.
TEST_F(ServeTest, SuggestionsAreNotAppendedToWhatTheServerReads) {
  for (const char* name : {"one", "two"})
    std::filesystem::copy(source_folder() / "examples/multi30k/model", folder_ / name);
  std::ofstream(folder_ / "server.yml") << "model: ['de-en=one', 'de-fr=two']\n";
  std::filesystem::create_directory_symlink("two", folder_ / "link");
  const std::string before = file_content(folder_ / "one/tokenizer.json");
  const auto expect_refused = [&](const std::string& arguments, const std::string& reason) {
    const Outcome outcome = run_dragoman(folder_.path(), "serve --port 0 " + arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_THAT(outcome.error, HasSubstr(reason));
  };
  const std::string models = "--model de-en=one --model de-fr=two --suggestions ";
  expect_refused(models + "one/tokenizer.json", "--suggestions one/tokenizer.json: is in one, which is read");
  expect_refused(models + "two/new.jsonl", "--suggestions two/new.jsonl: is in two, which is read");
  expect_refused(models + "link/config.json", "is in two, which is read");
  expect_refused("--config server.yml --suggestions two/config.json", "is in two, which is read");
  expect_refused("--config server.yml --suggestions server.yml", "is the input server.yml");
  EXPECT_EQ(file_content(folder_ / "one/tokenizer.json"), before);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "two/new.jsonl"));
}

/// Status 503 would make an obedient client send the same text again, for ever.
TEST_F(ServeTest, ARequestThatTakesTooLongIsToldToSendLess) {
  ServerProcess server(folder_.path(), {"--model", model_, "--request-time", "0.2"});
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "Zwei Kinder spielen im Gras, und ein Hund sieht ihnen zu. ";
  const RawAnswer answer =
      ask(server.port, "/translate", R"({"q": ")" + text + R"(", "source": "de", "target": "en"})");
  EXPECT_EQ(answer.status, 504);
  EXPECT_THAT(answer.body, HasSubstr("send less text at a time"));
}

TEST_F(ServeTest, AFileHasTheSameOptions) {
  std::ofstream(folder_ / "server.yml")
      << "model: ['" << model_ << "']\ncharacter-limit: 5\ncompute: bf16\nthreads: 2\ndecoding: {beam_size: 2}\n";
  ServerProcess server(folder_.path(), {"--config", folder_ / "server.yml"});
  const RawAnswer answer = ask(server.port, "/translate", kRequest);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("exceeds text limit (5)"));
  RawClient client(server.port);
  client.send("GET /v1/models HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.answer().body, HasSubstr("bf16"));
}

TEST_F(ServeTest, FaultsAreNamedByTheirFlags) {
  const auto error_of = [&](const std::string& arguments, int status) {
    const Outcome outcome = run_dragoman(folder_.path(), "serve " + arguments);
    EXPECT_EQ(outcome.status, status) << outcome.error;
    return outcome.error;
  };
  EXPECT_THAT(error_of("", 2), HasSubstr("give a --model"));
  EXPECT_THAT(error_of("--model " + model_ + " --tls-key k", 2), HasSubstr("--tls-certificate"));
  EXPECT_THAT(error_of("--model " + model_ + " --port 99999", 2), HasSubstr("--port"));
  EXPECT_THAT(error_of("--make-key a", 2), HasSubstr("--keys"));
  EXPECT_THAT(error_of("--model " + model_ + " --host 192.0.2.77", 1), HasSubstr("--host"));
  EXPECT_THAT(error_of("--model de-en=nothing-here", 1), HasSubstr("nothing-here"));
  std::ofstream(folder_ / "bad.yml") << "modle: x\n";
  EXPECT_THAT(error_of("--config bad.yml", 1), HasSubstr("bad.yml: unknown key 'modle'"));
  std::ofstream(folder_ / "bad.yml") << "model: x\ndecoding: {beam: 3}\n";
  EXPECT_THAT(error_of("--config bad.yml", 1), HasSubstr("decoding"));
  std::ofstream(folder_ / "bad.yml") << "model: x\nbeam-size: 3\n";
  EXPECT_THAT(error_of("--config bad.yml", 1), HasSubstr("bad.yml: beam_size: is an option of the search"));
  std::ofstream(folder_ / "bad.yml") << "model: x\nthreads: all\n";
  EXPECT_THAT(error_of("--config bad.yml", 1), HasSubstr("bad.yml: threads"));
  std::ofstream(folder_ / "bad.yml") << "model: x\ndecoding: {n_best: 3}\n";
  EXPECT_THAT(error_of("--config bad.yml", 1), HasSubstr("bad.yml: decoding: n_best: is an option of requests"));
  EXPECT_THAT(error_of("--model " + model_ + " --n-best 3", 2), HasSubstr("--n-best"));
}

}  // namespace
}  // namespace dragoman::testing
