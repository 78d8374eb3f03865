#include "dragoman/core/name_hints.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string>& keys() {
  static const std::vector<std::string> all{
      "output",
      "threads",
      "model.heads",
      "model.dropout",
      "model.dropout.attention",
      "data.train",
      "data.validation",
      "training.batch_tokens",
      "training.epochs",
      "training.compute",
      "training.optimizer.type",
      "training.optimizer.beta1",
      "training.optimizer.beta2",
      "training.schedule.type",
      "training.schedule.learning_rate",
      "training.schedule.warmup",
      "validation.every",
      "validation.batch_tokens",
      "validation.beam_size",
      "checkpoint.every",
  };
  return all;
}

std::vector<std::string> hint(std::string_view word, std::string_view scope) {
  return hint_name(word, scope, keys()).names;
}

TEST(NameHints, KeysOfOtherSectionsAreNamedByTheirPath) {
  EXPECT_THAT(hint("learning_rate", "training"), ElementsAre("training.schedule.learning_rate"));
  EXPECT_THAT(hint("learning_rate", "training.optimizer"), ElementsAre("training.schedule.learning_rate"));
  EXPECT_THAT(hint("warmup", ""), ElementsAre("training.schedule.warmup"));
  EXPECT_THAT(hint("schedule", ""), ElementsAre("training.schedule")) << "a section";
  EXPECT_THAT(hint("every", "training"), ElementsAre("validation.every", "checkpoint.every"));
  EXPECT_THAT(hint("type", "training"), ElementsAre("training.optimizer.type", "training.schedule.type"));
}

TEST(NameHints, CaseAndDashesDoNotCount) {
  EXPECT_THAT(hint("Learning-Rate", "training.schedule"), ElementsAre("training.schedule.learning_rate"));
  EXPECT_THAT(hint("Output", ""), ElementsAre("output"));
  EXPECT_THAT(hint_name("--beam_size", "", {"beam-size"}).names, ElementsAre("beam-size"));
}

TEST(NameHints, NamesOfOtherToolkitsAreOursInTheSectionIfPossible) {
  EXPECT_THAT(hint("max_tokens", "training"), ElementsAre("training.batch_tokens"));
  EXPECT_THAT(hint("max_tokens", ""), ElementsAre("training.batch_tokens"));
  EXPECT_THAT(hint("max_tokens", "validation"), ElementsAre("validation.batch_tokens"));
  EXPECT_THAT(hint("adam_betas", "training.optimizer"),
              ElementsAre("training.optimizer.beta1", "training.optimizer.beta2"));
  EXPECT_THAT(hint("encoder_attention_heads", "model"), ElementsAre("model.heads"));
  EXPECT_THAT(hint("attention_dropout", "model"), ElementsAre("model.dropout.attention"));
  EXPECT_THAT(hint_name("attention_dropout", "", {"heads", "dropout", "dropout.attention"}).names,
              ElementsAre("dropout.attention"))
      << "where the section is the whole";
  EXPECT_THAT(hint_name("num-beams", "", {"beam-size", "n-best"}).names, ElementsAre("beam-size"));
  EXPECT_THAT(hint_name("generate", "", {"train", "translate"}).names, ElementsAre("translate"));
  EXPECT_THAT(hint_name("max_tokens", "", {"train", "translate"}).names, IsEmpty()) << "nothing of ours is known here";
}

TEST(NameHints, BeginningsAndMisspellings) {
  EXPECT_THAT(hint("valid", ""), ElementsAre("validation"));
  EXPECT_THAT(hint("valid", "data"), ElementsAre("data.validation"));
  EXPECT_THAT(hint("trian", "data"), ElementsAre("data.train"));
  EXPECT_THAT(hint("traning", ""), ElementsAre("training"));
  EXPECT_THAT(hint("learning_rat", "training"), ElementsAre("training.schedule.learning_rate"));
  EXPECT_THAT(hint("zzzzzzzz", ""), IsEmpty());
  EXPECT_THAT(hint("xy", ""), IsEmpty()) << "all names are close to two letters";
  EXPECT_THAT(hint("", ""), IsEmpty());
  EXPECT_THAT(hint("-", ""), IsEmpty());
  EXPECT_THAT(hint(std::string(1 << 20, 'k'), ""), IsEmpty());
  EXPECT_THAT(hint_name("beam", "", {}).names, IsEmpty());
}

TEST(NameHints, MessagesShowTheNameAsItIsTypedThere) {
  EXPECT_EQ(did_you_mean("warm_up", "training.schedule", keys()), "; did you mean 'warmup'?");
  EXPECT_EQ(did_you_mean("warmup", "training", keys()), "; did you mean 'training.schedule.warmup'?");
  EXPECT_EQ(did_you_mean("every", "training", keys()), "; did you mean 'validation.every' or 'checkpoint.every'?");
  EXPECT_EQ(did_you_mean("fp16", "training", keys()), "; did you mean 'compute' with the value fp16?");
  EXPECT_EQ(did_you_mean("batch_size", "training", keys()), "; did you mean 'batch_tokens', which counts tokens?");
  EXPECT_EQ(did_you_mean("zzzzzzzz", "training", keys()), "");
}

TEST(NameHints, TheTableIsSpelledAsNamesAreCompared) {
  std::set<std::string_view> names;
  for (const ForeignName& name : foreign_names()) {
    EXPECT_TRUE(names.insert(name.theirs).second) << name.theirs << " is there twice";
    EXPECT_EQ(name.theirs.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), name.theirs.npos) << name.theirs;
    EXPECT_NE(name.theirs.front(), '_') << name.theirs;
    EXPECT_FALSE(name.ours.empty()) << name.theirs;
  }
}

}  // namespace
}  // namespace dragoman::core
