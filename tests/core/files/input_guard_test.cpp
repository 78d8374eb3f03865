#include "dragoman/core/input_guard.h"

#include "error_message.h"
#include "test_data.h"

#include <filesystem>

#include <gmock/gmock.h>

#include <dragoman/core/file.h>

namespace dragoman::core {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using ::testing::HasSubstr;

class InputGuard : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_ / "model");
    write_file(folder_ / "text", "a\n");
    fs::create_symlink("text", folder_ / "link");
    fs::create_hard_link(folder_ / "text", folder_ / "other");
  }
  std::string error(const std::string& output, const std::string& input) {
    return error_of([&] { require_not_an_input(folder_ / output, {folder_ / input}); });
  }

  testing::TemporaryFolder folder_;
};

TEST_F(InputGuard, RefusesEveryNameOfAnInput) {
  for (const char* name : {"text", "link", "other", "model/../text"})
    EXPECT_THAT(error(name, "text"), HasSubstr("which it would replace")) << name;
  EXPECT_EQ(error("another", "text"), "no error");
  EXPECT_EQ(error("another", "absent"), "no error");
}

TEST_F(InputGuard, RefusesNamesInAFolderThatIsRead) {
  write_file(folder_ / "model/config.json", "{}");
  for (const char* name : {"model/config.json", "model/not-there-yet", "model/not/there/yet", "model/../model/x"})
    EXPECT_THAT(error(name, "model"), HasSubstr("which is read")) << name;
  EXPECT_EQ(error("model2", "model"), "no error");
  EXPECT_THAT(error("model", "model/config.json"), HasSubstr("a folder that holds the input"));
}

TEST_F(InputGuard, RefusesNamesThatAFileHasUntilItIsComplete) {
  for (const char* suffix : {".partial", ".partial.job", ".superseded", ".replaced"}) {
    write_file(folder_ / ("out" + std::string(suffix)), "what an interrupted run left\n");
    EXPECT_THAT(error("out", "out" + std::string(suffix)), HasSubstr("has the name of the input")) << suffix;
    EXPECT_THAT(error("out/", "out" + std::string(suffix)), HasSubstr("has the name of the input")) << suffix;
    EXPECT_EQ(error("out2", "out" + std::string(suffix)), "no error") << suffix;
  }
  // The target of a link is written.
  fs::create_symlink("out", folder_ / "link-to-out");
  EXPECT_THAT(error("link-to-out", "out.partial"), HasSubstr("has the name of the input"));
}

}  // namespace
}  // namespace dragoman::core
