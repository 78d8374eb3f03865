#include "error_message.h"
#include "program.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/plugins/host.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

/// A copy of the bundled model, to be made hostile.
class HostileModelFolder : public ::testing::Test {
 protected:
  HostileModelFolder() {
    const fs::path original = source_folder() / "examples/multi30k/model";
    fs::create_directory(model_);
    for (const char* name : {"config.json", "tokenizer.json", "SHA256SUMS", "README.md"})
      fs::copy_file(original / name, model_ / name);
    fs::copy_file(original / "model.safetensors", model_ / "model.safetensors");
  }

  core::Json config() const { return core::load_json((model_ / "config.json").string()); }
  void write(const core::Json& config) const { core::write_file(model_ / "config.json", config.dump()); }
  std::string refusal() const {
    return error_of([&] {
      plugins::Host host;
      plugins::load_model(model_, host);
    });
  }

  TemporaryFolder folder_;
  fs::path model_ = folder_ / "model";
};

/// Kibibytes.
long peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST_F(HostileModelFolder, DimensionsThatTheWeightsDoNotHave) {
  const core::Json original = config();
  EXPECT_NO_THROW({
    plugins::Host host;
    plugins::load_model(model_, host);
  });
  const long memory = peak_memory();
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, core::Json>>{{"d_model", std::int64_t{1} << 40},
                                                       {"d_model", 65536},
                                                       {"d_model", -256},
                                                       {"d_model", 1e300},
                                                       {"heads", -8},
                                                       {"heads", 0},
                                                       {"heads", std::int64_t{1} << 62},
                                                       {"feed_forward", std::int64_t{1} << 62},
                                                       {"feed_forward", 262144},
                                                       {"encoder_layers", 1'000'000'000},
                                                       {"encoder_layers", 1024},
                                                       {"decoder_layers", 1024},
                                                       {"decoder_layers", -1},
                                                       {"position_offset", -1},
                                                       {"alignment_layer", 1000},
                                                       {"dropout", "all"}}) {
    core::Json changed = original;
    changed["model"][key] = value;
    write(changed);
    EXPECT_THAT(refusal(), AnyOf(HasSubstr(key), HasSubstr("the weights do not fit the configuration"))) << value;
  }
  for (const char* key : {"source_vocabulary", "target_vocabulary", "maximum_source_length", "maximum_target_length"})
    for (const core::Json& value : {core::Json(std::int64_t{1} << 40), core::Json(-1), core::Json("many")}) {
      core::Json changed = original;
      changed["sequences"][key] = value;
      write(changed);
      EXPECT_THAT(refusal(), HasSubstr(key)) << value;
    }
  EXPECT_LT(peak_memory() - memory, 300L << 10) << "something was allocated before it was refused";
}

TEST_F(HostileModelFolder, PipesAndDevicesAreRefusedAtOnce) {
  for (const std::string name : {"config.json", "tokenizer.json", "model.safetensors", "SHA256SUMS"})
    for (const bool pipe : {true, false}) {
      const fs::path file = model_ / name;
      fs::rename(file, folder_ / "kept");
      if (pipe)
        ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
      else
        fs::create_symlink("/dev/zero", file);
      const std::string message =
          name == "SHA256SUMS" ? error_of([&] { formats::verify_checksums(model_); }) : refusal();
      EXPECT_THAT(message, HasSubstr(name));
      EXPECT_THAT(message, HasSubstr("is not a regular file")) << (pipe ? "pipe" : "device");
      fs::rename(folder_ / "kept", file);
    }
}

TEST_F(HostileModelFolder, NothingTalksToTheTerminal) {
  const std::string hostile = "\x1b]0;owned\x07\x1b[2J\n" + std::string(200'000, 'x');
  const auto expect_harmless = [](const Outcome& outcome) {
    EXPECT_THAT(outcome.output + outcome.error, Not(AnyOf(HasSubstr("\x1b"), HasSubstr("\x07"))));
    EXPECT_LT(outcome.output.size(), 20'000U);
    EXPECT_LT(outcome.error.size(), 1000U) << outcome.error;
  };
  const core::Json original = config();
  for (const char* part : {"model", "sequences", ""}) {
    core::Json changed = original;
    (*part == '\0' ? changed : changed[part])[hostile] = hostile;
    write(changed);
    expect_harmless(run_dragoman(folder_.path(), "inspect model"));
    expect_harmless(run_dragoman(folder_.path(), "translate --model model < /dev/null"));
  }
  core::Json changed = original;
  changed["model_type"] = hostile;
  write(changed);
  expect_harmless(run_dragoman(folder_.path(), "inspect model"));
  expect_harmless(run_dragoman(folder_.path(), "translate --model model < /dev/null"));

  core::write_file(folder_ / "weights.safetensors", [&] {
    std::string header = core::Json{{"__metadata__", {{hostile, hostile}}}}.dump();
    std::string file(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i));
    return file + header;
  }());
  const Outcome weights = run_dragoman(folder_.path(), "inspect weights.safetensors");
  EXPECT_EQ(weights.status, 0) << weights.error;
  expect_harmless(weights);

  core::Json tokenizer = core::load_json((model_ / "tokenizer.json").string());
  for (const char* part : {"normalizer", "pre_tokenizer", "decoder", "post_processor"}) {
    core::Json other = tokenizer;
    other[part] = {{"type", hostile}};
    core::write_file(folder_ / "tokenizer.json", other.dump());
    const Outcome outcome = run_dragoman(folder_.path(), "inspect tokenizer.json");
    EXPECT_EQ(outcome.status, 1) << part;
    expect_harmless(outcome);
  }
}

/// Links in a model folder are followed, so an archive can make messages quote another file.
TEST_F(HostileModelFolder, ALinkShowsLittleOfWhatItLeadsTo) {
  constexpr std::size_t kMaxShown = 120;
  const std::string secret(5000, 's');
  const std::string all_kinds[] = {secret,
                                   '"' + secret + '"',
                                   "{\"" + secret + "\": 1}",
                                   "{\"model_type\": \"" + secret + "\"}",
                                   "{\"" + secret + "\"",
                                   "{\"version\": \"1.0\", \"model\": {\"type\": \"" + secret + "\"}}",
                                   secret + "  model.safetensors\n",
                                   std::string(64, '0') + "  " + secret + "\n"};
  for (const std::string name : {"config.json", "tokenizer.json", "model.safetensors", "SHA256SUMS"}) {
    fs::rename(model_ / name, folder_ / "kept");
    fs::create_symlink(folder_ / "secret", model_ / name);
    for (const std::string& content : all_kinds) {
      core::write_file(folder_ / "secret", content);
      for (const char* command : {"inspect --verify model", "translate --model model < /dev/null"}) {
        const std::string error = run_dragoman(folder_.path(), command).error;
        EXPECT_LT(error.size(), 1000U) << name << ' ' << content.substr(0, 40) << ": " << error;
        EXPECT_EQ(error.find(secret.substr(0, kMaxShown + 1)), std::string::npos) << name << ": " << error;
      }
      EXPECT_EQ(core::read_file(folder_ / "secret"), content) << "nothing is written there";
    }
    fs::remove(model_ / name);
    fs::rename(folder_ / "kept", model_ / name);
  }
}

/// A pipe is a file like any other for what the user names; only that somebody may have to wait for it.
class ConfigurationFromAPipe : public ::testing::Test {
 protected:
  ConfigurationFromAPipe() { ::mkfifo((folder_ / "pipe.yml").c_str(), 0600); }
  TemporaryFolder folder_;
};

TEST_F(ConfigurationFromAPipe, IsRead) {
  core::write_file(folder_ / "input", "one\ntwo\n");
  BackgroundProgram program(folder_.path(), {"run", "pipe.yml"});
  std::ofstream(folder_ / "pipe.yml") << "stages:\n  - read: {path: input}\n  - write: {path: output}\n";
  EXPECT_EQ(program.wait(), 0) << program.error();
  EXPECT_EQ(file_content(folder_ / "output"), "one\ntwo\n");
}

TEST_F(ConfigurationFromAPipe, ThatStaysSilentIsLeftWhenASignalAsksForIt) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"train", "--config", "pipe.yml"}, {"run", "pipe.yml"}}) {
    BackgroundProgram program(folder_.path(), arguments);
    // A pipe can be opened for writing without waiting when somebody reads it.
    int pipe = -1;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (pipe < 0 && std::chrono::steady_clock::now() < end) {
      pipe = ::open((folder_ / "pipe.yml").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_GE(pipe, 0) << arguments[0];
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait(), 130) << arguments[0];
    EXPECT_THAT(program.error(), HasSubstr("interrupted while reading pipe.yml"));
    ::close(pipe);
  }
}

}  // namespace
}  // namespace dragoman::testing
