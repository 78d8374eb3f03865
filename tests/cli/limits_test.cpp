// The sizes of files that docs/concepts/security.md promises.
#include "program.h"

#include <fstream>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uintmax_t kMebibyte = std::uintmax_t{1} << 20;

class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() {
    std::filesystem::copy(source_folder() / "examples/multi30k/model", folder_ / "model");
    std::filesystem::create_directory(folder_ / "run");
    std::ofstream(folder_ / "run/metrics.jsonl") << "{}\n";
    std::ofstream(folder_ / "text") << "one\n";
  }

  /// The file, which takes no room on the disk, has one byte more than it may have.
  void expect_refusal(const std::string& file, std::uintmax_t limit, const std::string& command) const {
    const std::filesystem::path path = folder_ / file;
    const std::string before = file_content(path);
    std::ofstream(path, std::ios::app).close();
    std::filesystem::resize_file(path, limit + 1);
    const Outcome outcome = run_dragoman(folder_.path(), command);
    EXPECT_EQ(outcome.status, 1) << command;
    EXPECT_THAT(outcome.error,
                AllOf(HasSubstr(file), HasSubstr("larger than the " + std::to_string(limit) + " bytes allowed")));
    std::ofstream(path, std::ios::binary) << before;
  }

  TemporaryFolder folder_;
};

TEST_F(LimitsTest, LargerFilesAreRefused) {
  expect_refusal("model/config.json", kMebibyte, "inspect model");
  expect_refusal("model/SHA256SUMS", kMebibyte, "inspect --verify model");
  expect_refusal("big.yml", 16 * kMebibyte, "run big.yml");
  expect_refusal("run/run.json", 256 * kMebibyte, "report run -o page.html");
  expect_refusal("t.json", 256 * kMebibyte, "encode -t t.json -i text");
}

/// After decompression: half a megabyte of gzip.
TEST_F(LimitsTest, PackedFilesCountAsWhatTheyUnfoldTo) {
  ASSERT_EQ(std::system(("cd '" + folder_.path().string() + "' && head -c 300M /dev/zero | gzip -1 >t.json").c_str()),
            0);
  const Outcome outcome = run_dragoman(folder_.path(), "encode -t t.json -i text");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.error, HasSubstr("larger than the 268435456 bytes allowed"));
}

TEST_F(LimitsTest, ManyKeysOfMetadataAreShownInLinearTime) {
  constexpr int kKeys = 200'000;  // two megabytes, for which a search among all keys for each took two minutes
  std::string header = R"({"__metadata__":{)";
  for (int i = 0; i < kKeys; ++i) header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"")";
  header += "}}";
  const std::uint64_t size = header.size();
  std::ofstream(folder_ / "keys.safetensors", std::ios::binary)
      << std::string_view(reinterpret_cast<const char*>(&size), sizeof size) << header;
  const Outcome outcome = run_dragoman(folder_.path(), "inspect keys.safetensors --json");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.output, HasSubstr("\"199999\""));
}

}  // namespace
}  // namespace dragoman::testing
