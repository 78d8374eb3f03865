#include "bundled_model.h"
#include "error_message.h"
#include "test_data.h"
#include "tiny_model.h"

#include <limits>
#include <mutex>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <dragoman/decoding/logits_processor.h>
#include <dragoman/dragoman.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/host.h>

namespace dragoman {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TranslatorTest : public ::testing::Test {
 protected:
  testing::TinyModel folder_;
  Model model_{folder_.path(), {.threads = 2}};
  Translator translator_{model_};
};

TEST_F(TranslatorTest, AnEmptyTextHasOneEmptyTranslation) {
  for (const char* text : {"", "  \t"}) {
    const auto translations = translator_.translate(text, Search{.n_best = 3});
    ASSERT_EQ(translations.size(), 1U);
    EXPECT_EQ(translations.front().text, "");
    EXPECT_TRUE(translations.front().tokens.empty());
  }
  EXPECT_TRUE(translator_.translate_batch({}).empty());
}

TEST_F(TranslatorTest, ALongTextIsTranslatedInPartsThatAreJoined) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "the cat ";
  const auto translations = translator_.translate(text, Search{.n_best = 2});
  ASSERT_EQ(translations.size(), 1U);
  const Translation& whole = translations.front();
  EXPECT_EQ(whole.text, translator_.translate(text));
  ASSERT_GT(whole.parts.size(), 1U);
  double sum = 0;
  std::string joined;
  for (const auto& part : whole.parts) {
    EXPECT_EQ(part.size(), 2U);
    sum += part.front().log_probability;
    joined += (joined.empty() ? "" : " ") + part.front().text;
  }
  EXPECT_EQ(whole.log_probability, sum);
  EXPECT_EQ(whole.text, joined);
}

TEST_F(TranslatorTest, ARequestHasAPrefixConstraintsAndProgress) {
  EXPECT_THAT(translator_.translate("the cat sat", {.target_prefix = "ein Hund"}), StartsWith("ein Hund"));
  EXPECT_THAT(translator_.translate("the cat sat", {.constraints = {"log"}}), HasSubstr("log"));
  EXPECT_THAT(error_of([&] { translator_.translate("the cat", Request{.source_language = "xx"}); }), HasSubstr("xx"));
  std::mutex mutex;
  std::vector<std::string> told;
  const std::string text = translator_.translate("the dog sat on the log", {.on_partial = [&](std::string_view known) {
                                                   const std::lock_guard lock(mutex);
                                                   told.emplace_back(known);
                                                 }});
  EXPECT_EQ(text, translator_.translate("the dog sat on the log"));
  EXPECT_FALSE(told.empty());
  for (const std::string& known : told) EXPECT_THAT(text, StartsWith(known));
  EXPECT_THAT(error_of([&] {
                translator_.translate_batch({"a", "b"}, {.on_partial = [](std::string_view) {}});
              }),
              HasSubstr("submit()"));
}

TEST_F(TranslatorTest, AnErrorOfABatchNamesItsText) {
  const Search greedy{.decoder = "greedy"};
  EXPECT_THAT(error_of([&] {
                translator_.translate_batch({"", "the cat", "the dog"}, greedy, {.constraints = {"log"}});
              }),
              StartsWith("text 2: only a beam search"));
  EXPECT_THAT(error_of([&] { translator_.translate("the cat", greedy, {.constraints = {"log"}}); }),
              StartsWith("only a beam search"));
}

TEST_F(TranslatorTest, ASearchThatMakesNoSenseNamesTheOption) {
  const std::vector<std::pair<Search, std::string>> wrong = {{{.beam_size = 0}, "beam_size"},
                                                             {{.decoder = "magic"}, "magic"},
                                                             {{.length_penalty = "heavy"}, "length_penalty"},
                                                             {{.decoder = "greedy", .beam_size = 3}, "beam_size"},
                                                             {{.top_k = 3}, "top_k"},
                                                             {{.mbr_samples = 5}, "mbr_samples"},
                                                             {{.mbr_utility = "bleu"}, "mbr_utility"}};
  for (const auto& [search, name] : wrong) {
    EXPECT_THAT(error_of([&] { translator_.translate("the cat", search); }), HasSubstr(name));
    EXPECT_THAT(error_of([&] { Translator(model_, search); }), HasSubstr(name));
  }
}

TEST_F(TranslatorTest, NumbersThatMakeNoSenseAreRefusedByAllServices) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(error_of([&] { Scorer(model_, {.length_penalty = "fairseq", .alpha = nan}); }), HasSubstr("alpha"));
  EXPECT_THAT(error_of([&] { Scorer(model_, {.length_penalty = "gnmt", .alpha = -1e308}); }), HasSubstr("alpha"));
  EXPECT_THAT(error_of([&] { translator_.translate("the cat", Search{.alpha = 1e308}); }), HasSubstr("alpha"));
  EXPECT_THAT(error_of([&] { Aligner(model_, {.threshold = nan}); }), HasSubstr("threshold"));
  EXPECT_THAT(error_of([&] { Aligner(model_, {.threshold = -1}); }), HasSubstr("threshold"));
  EXPECT_THAT(error_of([&] { translator_.translate("the cat", Search{.decoder = "sampling", .temperature = 1e-40}); }),
              HasSubstr("temperature"));
  EXPECT_THAT(error_of([] { Tokenizer(std::shared_ptr<const tokenizer::Tokenizer>()); }), HasSubstr("null pointer"));
}

TEST_F(TranslatorTest, SubmittedTextsHaveCallbacksAndCanBeStopped) {
  std::promise<std::vector<Translation>> called;
  translator_.submit("the cat sat", {.n_best = 2}, {},
                     [&](std::vector<Translation> found, const std::exception_ptr& error) {
                       EXPECT_EQ(error, nullptr);
                       called.set_value(std::move(found));
                     });
  EXPECT_EQ(called.get_future().get().front().text, translator_.submit("the cat sat").get().front().text);
  std::stop_source stop;
  auto stopped =
      translator_.submit("the cat sat on the mat", {.decoder = "greedy", .minimum_length = 20},
                         {.stop = stop.get_token(), .on_partial = [&](std::string_view) { stop.request_stop(); }});
  try {
    stopped.get();
    FAIL() << "it was not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInterrupted);
  }
}

/// Gives every hypothesis of a sentence its edits in one call.
class Forbid final : public decoding::LogitsProcessor {
 public:
  explicit Forbid(std::int32_t token) : token_(token) {}
  void apply(const decoding::SentenceState&, const decoding::LiveHypothesis&, decoding::RowEdits&) override {
    ADD_FAILURE() << "one call for all hypotheses was expected";
  }
  void apply_all(const decoding::SentenceState& state, std::span<decoding::RowEdits> edits) override {
    EXPECT_EQ(edits.size(), state.live.size());
    for (decoding::RowEdits& row : edits) row.suppress(token_);
  }

 private:
  std::int32_t token_;
};

TEST(LogitsProcessors, OfATranslatorAreThoseThatAreRegistered) {
  plugins::Contributions contributions;
  contributions.logits_processors.push_back(
      {.name = "forbid", .summary = "a token", .make = [](const nn::SequenceSpec&, core::OptionReader& own) {
         return std::make_unique<Forbid>(own.require_key<int>("token"));
       }});
  plugins::default_host().registry().add("test", std::move(contributions));
  const std::string text = "Eine Frau spielt Gitarre.";
  const Translator usual(bundled(), {.beam_size = 3});
  const auto tokenizer = bundled().target_tokenizer();
  const std::int32_t token = tokenizer->id(usual.translate(text, Search{}).front().tokens.front()).value();
  const Translator strict(bundled(), {.beam_size = 3}, {{"forbid", fmt::format(R"({{"token": {}}})", token)}});
  const Translation found = strict.translate(text, Search{}).front();
  EXPECT_NE(found.tokens.front(), tokenizer->piece(token));
  EXPECT_EQ(found.text, usual.translate(text, Search{.suppress_tokens = {{{token}}}}).front().text);
  EXPECT_THAT(error_of([] { Translator(bundled(), {}, {{"forbit", ""}}); }), HasSubstr("forbid"));
  EXPECT_THAT(error_of([&] { Translator(bundled(), {}, {{"forbid", "{"}}).translate(text); }), HasSubstr("forbid"));
}

TEST_F(TranslatorTest, AStoppedBatchSubmitsNoMore) {
  std::stop_source stop;
  stop.request_stop();
  const std::vector<std::string> texts(1000, "the cat sat");
  for (const bool scored : {false, true}) {
    try {
      const Request request{.stop = stop.get_token()};
      if (scored)
        translator_.translate_batch(texts, Search{}, request);
      else
        translator_.translate_batch(texts, request);
      FAIL() << "it was not stopped";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInterrupted);
      EXPECT_STREQ(error.what(), "the translation was interrupted") << "no text was begun";
    }
  }
}

}  // namespace
}  // namespace dragoman
