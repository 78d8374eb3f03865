// Models with one table of embeddings for both sides need one vocabulary, not two of one size.
#include "small_task.h"
#include "test_data.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::training {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SmallTask;

class JointVocabulary : public ::testing::Test {
 protected:
  void SetUp() override {
    learn("source.json", "abab abab cdcd cdcd bcbc\n");
    learn("target.json", "wxwx wxwx yzyz yzyz xyxy\n");
    ASSERT_EQ(size_of("source.json"), size_of("target.json"));
    ASSERT_EQ(size_of("source.json"), size_of("tokenizer.json"));
  }

  void learn(const std::string& name, const std::string& text) const {
    core::write_file(task_.file("text"), text);
    tokenizer::LearnOptions options;
    options.vocab_size = 12;
    options.byte_fallback = false;
    options.threads = 1;
    tokenizer::learn_bpe({task_.file("text")}, options).save(task_.file(name));
  }
  std::int32_t size_of(const std::string& name) const {
    return tokenizer::BpeTokenizer::parse(core::read_file(task_.file(name)), name).size();
  }

  TrainingConfig config(const std::string& source, const std::string& target,
                        const std::vector<std::string>& assignments = {}) const {
    core::Json tree = task_.tree(assignments);
    tree["training"]["updates"] = 1;
    if (!source.empty())
      tree["data"]["tokenizer"] = {{"source", task_.file(source).string()}, {"target", task_.file(target).string()}};
    return read_training_config(tree, "joint vocabulary");
  }
  /// The error, or "no error"; messages go to `said_`.
  std::string train(const TrainingConfig& config, StartMode mode = StartMode::kFresh) {
    TrainerEnvironment environment = testing::trusting_environment();
    said_.clear();
    environment.log = [this](core::LogLevel, std::string_view message) { said_.emplace_back(message); };
    try {
      testing::train(config, mode, {}, std::move(environment));
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
  std::vector<std::string> said_;
};

TEST_F(JointVocabulary, IsRequiredOfOneTable) {
  const auto is_refused = AllOf(HasSubstr("source.json"), HasSubstr("target.json"), HasSubstr("different vocabularies"),
                                HasSubstr("12 and 12 pieces"), HasSubstr("one joint vocabulary"));
  EXPECT_THAT(train(config("source.json", "target.json")),
              AllOf(is_refused, HasSubstr("model.tying to target-output")));
  EXPECT_FALSE(std::filesystem::exists(task_.file("run")));
  EXPECT_THAT(train(config("source.json", "target.json", {"model.tying=source-target"})), is_refused);
  EXPECT_THAT(train(config("source.json", "target.json",
                           {"model={type: t5, d_model: 16, heads: 2, head_width: 8, feed_forward: 32, "
                            "encoder_layers: 1, decoder_layers: 1}",
                            "data.special_tokens.begin=</s>"})),
              AllOf(is_refused, Not(HasSubstr("model.tying"))));
  for (const char* tying : {"target-output", "none"})
    EXPECT_EQ(train(config("source.json", "target.json",
                           {std::string("model.tying=") + tying, "output=" + task_.file(tying).string()})),
              "no error")
        << tying;
}

TEST_F(JointVocabulary, MayBeInTwoFiles) {
  std::filesystem::copy_file(task_.file("tokenizer.json"), task_.file("copy.json"));
  EXPECT_EQ(train(config("tokenizer.json", "copy.json")), "no error");
}

/// The pieces are the same ones, with other ids.
TEST_F(JointVocabulary, HasItsPiecesInOneOrder) {
  core::Json tree = core::load_json(task_.file("tokenizer.json"));
  core::Json& vocabulary = tree["model"]["vocab"];
  std::swap(vocabulary["a"], vocabulary["b"]);
  core::write_file(task_.file("swapped.json"), tree.dump());
  EXPECT_THAT(train(config("tokenizer.json", "swapped.json")), HasSubstr("of which 10 are the same"));
}

TEST_F(JointVocabulary, IsRequiredOfAModelThatARunBeginsWith) {
  ASSERT_EQ(train(config("", "", {"output=" + task_.file("base").string()})), "no error");
  const std::string from = "model={from: " + (task_.file("base") / "last").string() + "}";
  EXPECT_THAT(train(config("source.json", "target.json", {from})), HasSubstr("different vocabularies"));
  // Rows of tables that the run does not share with the folder are not carried over.
  EXPECT_EQ(
      train(config("source.json", "target.json", {from, "model.from_matching=true", "model.tying=target-output"})),
      "no error");
  EXPECT_THAT(said_, Contains(AllOf(HasSubstr("0 of 12 source pieces"), HasSubstr("0 of 12 target pieces"))));
  ASSERT_EQ(train(config("source.json", "source.json", {from, "output=" + task_.file("joint").string()})), "no error");
  EXPECT_THAT(said_, Contains(AllOf(HasSubstr(" of 12 source pieces"), Not(HasSubstr("0 of 12 source")))));
}

/// As an earlier version trained them: they go on, with a warning.
TEST_F(JointVocabulary, IsNotRequiredOfModelsThatWereTrainedWithoutIt) {
  std::filesystem::copy_file(task_.file("tokenizer.json"), task_.file("copy.json"));
  ASSERT_EQ(train(config("tokenizer.json", "copy.json")), "no error");
  const std::filesystem::path last = task_.file("run") / "last";
  core::Json tree = core::load_json(last / "source.tokenizer.json");
  core::Json& vocabulary = tree["model"]["vocab"];
  std::swap(vocabulary["a"], vocabulary["b"]);
  core::write_file(last / "source.tokenizer.json", tree.dump());
  std::filesystem::remove(last / "SHA256SUMS");
  core::Json tuned = task_.tree();
  tuned["output"] = task_.file("tuned").string();
  tuned["data"].erase("tokenizer");
  tuned["model"] = {{"from", last.string()}};
  tuned["training"]["updates"] = 1;
  EXPECT_EQ(train(read_training_config(tuned, "tuned")), "no error");
  EXPECT_THAT(said_, Contains(HasSubstr("as it had before")));
}

}  // namespace
}  // namespace dragoman::training
