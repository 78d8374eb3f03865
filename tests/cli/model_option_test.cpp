// What --model and its relatives say of a path that is no model.
#include "program.h"

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ModelOption : public ::testing::Test {
 protected:
  ModelOption() {
    copy("parent/first");
    std::ofstream(folder_ / "s") << "ein Hund\n";
    std::ofstream(folder_ / "t") << "a dog\n";
    std::ofstream(folder_ / "links") << "0-0 1-1\n";
    std::ofstream(folder_ / "lists") << R"({"text": "a dog", "source": "ein Hund"})"
                                     << "\n";
  }
  void copy(const std::string& name) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::filesystem::copy(in_source("examples/multi30k/model"), folder_ / name);
  }
  std::string error_of(const std::string& arguments) const {
    const Outcome outcome = run_dragoman(folder_.path(), arguments);
    EXPECT_EQ(outcome.status, 1) << arguments << ": " << outcome.error;
    return outcome.error;
  }

  TemporaryFolder folder_;
};

const std::vector<std::string> kCommands = {"translate s --model MODEL",
                                            "score s t --model MODEL",
                                            "align s t --model MODEL",
                                            "embed s --model MODEL --output out.npy",
                                            "rerank lists --model MODEL",
                                            "rerank lists --reverse MODEL",
                                            "tune s t --model MODEL",
                                            "shortlist s t --alignments links --model MODEL",
                                            "quantize --model MODEL --output out",
                                            "average MODEL MODEL --output out",
                                            "convert MODEL --output out",
                                            "convert MODEL --to ctranslate2 --output out",
                                            "translate s --model parent/first --ensemble MODEL"};

TEST_F(ModelOption, NamesTheModelsInAFolder) {
  for (std::string command : kCommands) {
    for (std::size_t at; (at = command.find("MODEL")) != std::string::npos;) command.replace(at, 5, "parent");
    EXPECT_THAT(error_of(command), AllOf(HasSubstr("parent: is no model, but holds one: parent/first")));
  }
  copy("parent/second");
  std::filesystem::create_directories(folder_ / "parent" / "text");
  EXPECT_THAT(
      error_of("translate s --model parent"),
      AllOf(HasSubstr("holds the models first, second; name one of them: parent/first"), Not(HasSubstr("text"))));
}

TEST_F(ModelOption, NamesTheModelsOfARun) {
  std::ofstream(folder_ / "parent" / "run.json") << "{}";
  for (const char* name : {"parent/average", "parent/best", "parent/last"}) copy(name);
  EXPECT_THAT(error_of("score s t --model parent"),
              HasSubstr("parent: is a training run and no model, but holds the models best, average, first, last; name "
                        "one of them: parent/best"));
  std::filesystem::create_directories(folder_ / "new");
  std::ofstream(folder_ / "new" / "run.json") << "{}";
  EXPECT_THAT(error_of("score s t --model new"), HasSubstr("has no model yet"));
}

TEST_F(ModelOption, NamesModelsOfOtherToolkits) {
  run_dragoman(folder_.path(), "convert parent/first --to ctranslate2 --output foreign/ct2");
  EXPECT_THAT(error_of("translate s --model foreign"), HasSubstr("foreign/ct2"));
  EXPECT_THAT(error_of("convert foreign --output out"), HasSubstr("foreign/ct2"));
}

TEST_F(ModelOption, NamesAModelTypeThatIsNotSupported) {
  std::filesystem::create_directories(folder_ / "gpt");
  std::ofstream(folder_ / "gpt" / "config.json") << R"({"model_type": "gpt2", "n_layer": 2})";
  std::ofstream(folder_ / "gpt" / "model.safetensors") << "x";
  for (std::string command : kCommands) {
    for (std::size_t at; (at = command.find("MODEL")) != std::string::npos;) command.replace(at, 5, "gpt");
    EXPECT_THAT(error_of(command), AllOf(HasSubstr("gpt2"), Not(HasSubstr("format_version is missing")))) << command;
  }
  EXPECT_THAT(error_of("translate s --model gpt"),
              AllOf(HasSubstr("model_type"), HasSubstr("marian"), HasSubstr("t5")));
}

TEST_F(ModelOption, NamesAFileOfPyTorch) {
  std::filesystem::copy(in_source("tests/formats/golden/torch/state.pt"), folder_ / "state.pt");
  // Where models of other toolkits are taken.
  for (const char* command : {"translate s --model state.pt", "score s t --model state.pt",
                              "align s t --model state.pt", "embed s --model state.pt --output out.npy",
                              "rerank lists --reverse state.pt", "quantize --model state.pt --output out",
                              "convert state.pt --output out", "translate s --model parent/first --ensemble state.pt"})
    EXPECT_THAT(error_of(command), AllOf(HasSubstr("state.pt: looks like a checkpoint of PyTorch"),
                                         HasSubstr("docs/guides/models.md"), Not(HasSubstr("zip"))))
        << command;
  for (const char* command : {"tune s t --model state.pt", "shortlist s t --alignments links --model state.pt"})
    EXPECT_THAT(error_of(command), AllOf(HasSubstr("state.pt: is not a folder"), HasSubstr("dragoman convert")));
}

TEST_F(ModelOption, SaysHowACheckpointBecomesAModel) {
  std::filesystem::create_directories(folder_ / "checkpoint-8");
  std::ofstream(folder_ / "checkpoint-8" / "state.json") << "{}";
  EXPECT_THAT(error_of("translate s --model checkpoint-8"), HasSubstr("dragoman average"));
}

}  // namespace
}  // namespace dragoman::testing
