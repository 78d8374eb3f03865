// Lines of progress on terminals of any width. The program is given one of its own.
#include "program.h"

#include <sys/ioctl.h>

#include <cstdlib>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>

#include <dragoman/core/json.h>

namespace dragoman::testing {
namespace {

/// What a command writes to a terminal of `columns` columns, as standard error; the parts of a bar are lines.
std::vector<std::string> terminal_lines(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                                        unsigned short columns) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return {};
  const int other = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
  const struct winsize size { .ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0 };
  ::ioctl(other, TIOCSWINSZ, &size);
  std::string program = built("program");
  std::vector<char*> argv{program.data()};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(::open("/dev/null", O_RDWR), STDIN_FILENO);
    ::dup2(STDIN_FILENO, STDOUT_FILENO);
    ::dup2(other, STDERR_FILENO);
    if (::chdir(folder.c_str()) == 0) ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(other);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count; (count = ::read(terminal, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  ::close(terminal);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0) << text;
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\r' || c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  for (std::string& line : lines)
    if (const std::size_t end = line.find("\x1b[K"); end != std::string::npos) line.resize(end);
  std::erase(lines, "");
  return lines;
}

class ProgressLine : public ::testing::Test {
 protected:
  ProgressLine() {
    std::ofstream(folder_ / "text") << "a b c d\nd c b a\na c b d\n";
    run_dragoman(folder_.path(), "learn-bpe text --vocab-size 20 --no-byte-fallback --output tokenizer.json");
    std::ofstream(folder_ / "train.yml")
        << "output: run\nthreads: 1\ndata: {train: {source: text, target: text}, tokenizer: tokenizer.json, "
           "maximum_length: 32, "
           "validation: {source: text, target: text}}\n"
           "model: {d_model: 16, heads: 2, feed_forward: 16, encoder_layers: 1, decoder_layers: 1}\n"
           "training: {updates: 300, batch_tokens: 64, label_smoothing: 0.1}\nvalidation: {every: 100}\n";
  }
  TemporaryFolder folder_;
};

TEST_F(ProgressLine, HasABarAndWholeWords) {
  const auto lines = terminal_lines(folder_.path(), {"train", "--config", "train.yml"}, 80);
  if (lines.empty()) GTEST_SKIP() << "this machine gives no terminals";
  const std::regex bar(
      R"(train +\d+% \[#*-*\] \d+/300 updates, epoch \d+, loss [0-9.]+, \d+:\d\d(, ETA \d+:\d\d)?(, [0-9.kMG]+/s)?(, (smoothed loss|tokens/s|lr|gradient norm|memory MB) [0-9.e+-]+[kMG]?)*)");
  std::size_t bars = 0;
  for (const std::string& line : lines) {
    if (!line.starts_with("train ")) continue;
    EXPECT_LT(line.size(), 80U) << line;
    EXPECT_TRUE(std::regex_match(line, bar)) << line;
    ++bars;
  }
  EXPECT_GT(bars, 0U);
}

TEST_F(ProgressLine, LeavesOutWhatHasNoRoom) {
  for (const unsigned short columns : {40, 24}) {
    std::filesystem::remove_all(folder_ / "run");
    for (const std::string& line : terminal_lines(folder_.path(), {"train", "--config", "train.yml"}, columns)) {
      if (!line.starts_with("train ")) continue;
      EXPECT_LT(line.size(), columns) << line;
      EXPECT_TRUE(line.find(',') == std::string::npos || std::regex_search(line, std::regex("[0-9kMGs]$"))) << line;
    }
  }
}

/// Messages of a run that goes on for days have their time, and epochs are counted in one way.
TEST_F(ProgressLine, LogsHaveTimes) {
  const Outcome outcome = run_dragoman(folder_.path(), "train --config train.yml");
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  std::istringstream log(outcome.error);
  for (std::string line; std::getline(log, line);)
    EXPECT_TRUE(std::regex_search(line, std::regex(R"(^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d .)"))) << line;
  const std::string metrics = file_content(folder_ / "run/metrics.jsonl");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(outcome.error, found, std::regex(R"(update 100, epoch (\d+): loss)"))) << outcome.error;
  std::istringstream lines(metrics);
  std::size_t compared = 0;
  for (std::string line; std::getline(lines, line);) {
    const core::Json json = core::Json::parse(line);
    if (json["update"] != 100) continue;
    EXPECT_EQ(std::to_string(json["epoch"].get<int>()), found[1].str()) << line;
    ++compared;
  }
  EXPECT_EQ(compared, 2U) << "a line of training and one of the validation";
}

}  // namespace
}  // namespace dragoman::testing
