#include "bundled_model.h"
#include "error_message.h"
#include "program.h"
#include "test_data.h"
#include "tiny_model.h"

#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/dragoman.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/pipeline/model_view.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::in_source;
using testing::run_dragoman;

class CommandLine : public ::testing::Test {
 protected:
  CommandLine() {
    std::ofstream file(folder_ / "source");
    for (const std::string& line : kSources) file << line << "\n";
  }
  /// The objects that `dragoman ARGUMENTS` prints.
  std::vector<core::Json> objects(const std::string& arguments) {
    const testing::Outcome outcome = run_dragoman(folder_ / "", arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    std::vector<core::Json> lines;
    std::istringstream in(outcome.output);
    for (std::string line; std::getline(in, line);) lines.push_back(core::Json::parse(line));
    return lines;
  }
  std::string model() const { return " --quiet --model '" + in_source("examples/multi30k/model") + "' "; }

  testing::TemporaryFolder folder_;
};

std::string joined(const std::vector<std::string>& translations) {
  std::string text;
  for (const std::string& translation : translations) text += translation + "\n";
  return text;
}

std::string joined(const std::vector<std::vector<Translation>>& found) {
  std::string text;
  for (const auto& translations : found) text += translations.front().text + "\n";
  return text;
}

/// Real sentences, on which the folder's tuned length penalty makes a difference.
class RealText : public CommandLine {
 protected:
  void SetUp() override {
    DRAGOMAN_NEEDS_DATA("multi30k/test_2016_flickr.de.gz");
    constexpr std::size_t kLines = 200;
    core::LineReader reader(testing::data_folder() / "multi30k/test_2016_flickr.de.gz");
    std::ofstream file(folder_ / "test.de");
    for (lines_.resize(kLines); std::string & line : lines_) {
      ASSERT_TRUE(reader.next(line));
      file << line << "\n";
    }
  }
  std::string output(const std::string& arguments) {
    const testing::Outcome outcome = run_dragoman(folder_ / "", arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    return outcome.output;
  }
  std::string translate(const std::string& flags) { return output("translate" + model() + flags + " test.de"); }
  /// `translate` reads lines of JSON whose own options are `decoding`.
  std::string translate_json_lines(const std::string& decoding, const std::string& flags) {
    std::ofstream file(folder_ / "test.jsonl");
    for (const std::string& line : lines_)
      file << core::Json{{"source", line}, {"decoding", core::Json::parse(decoding)}} << "\n";
    file.close();
    return output("translate" + model() + "--input-format jsonl " + flags + " test.jsonl");
  }
  std::string run_pipeline(const std::string& model_folder, const std::string& options) {
    std::ofstream(folder_ / "job.yml") << "stages:\n- read: {path: test.de}\n- translate: {model: '" << model_folder
                                       << "'" << options << "}\n- write: {}\n";
    return output("run --quiet job.yml");
  }
  /// A copy of the bundled folder whose decoding defaults have this besides the tuned length penalty.
  std::string folder_with(const core::Json& decoding) {
    const std::string bundled_folder = in_source("examples/multi30k/model");
    core::Json defaults = core::Json::parse(testing::read_text(bundled_folder + "/config.json"))["decoding"];
    EXPECT_TRUE(defaults.contains("alpha")) << "it is tuned";
    defaults.update(decoding);
    const std::filesystem::path folder = folder_ / "tuned";
    std::filesystem::remove_all(folder);
    formats::write_decoding_defaults(bundled_folder, folder, defaults);
    return folder.string();
  }

  std::vector<std::string> lines_;
};

/// All of them fill one type, and one function merges what they say.
TEST_F(RealText, ABeamSizeIsTheSameOptionInAllFivePlaces) {
  const std::string expected = translate("--beam-size 5");
  EXPECT_EQ(joined(Translator(bundled()).translate_batch(lines_, Search{.beam_size = 5})), expected) << "C++";
  EXPECT_EQ(joined(Translator(bundled(), {.beam_size = 5}).translate_batch(lines_)), expected) << "C++";
  EXPECT_EQ(run_pipeline(in_source("examples/multi30k/model"), ", beam_size: 5"), expected) << "YAML";
  EXPECT_EQ(translate_json_lines(R"({"beam_size": 5})", ""), expected) << "JSON lines";
  const std::string folder = folder_with({{"beam_size", 5}});
  EXPECT_EQ(output("translate --quiet --model '" + folder + "' test.de"), expected) << "the model folder";
  EXPECT_EQ(joined(Translator(Model(folder, {.compute = ComputeChoice::kAuto})).translate_batch(lines_)), expected)
      << "the model folder, in C++";
  pipeline::Translator bare(bundled(), {.search = {.beam_size = 5}, .ignore_model_defaults = true});
  EXPECT_NE(joined(bare.translate(lines_)), expected) << "the folder's penalty makes a difference";
  EXPECT_EQ(joined(bare.translate(lines_)), translate("--beam-size 5 --ignore-model-defaults"));
}

/// The line before the command or its YAML, these before the folder; in C++ the call before the translator.
TEST_F(RealText, EachPlaceGoesBeforeTheNext) {
  const std::string expected = translate("--beam-size 5");
  ASSERT_NE(translate("--beam-size 1"), expected);
  const std::string folder = folder_with({{"beam_size", 1}});
  EXPECT_EQ(output("translate --quiet --model '" + folder + "' --beam-size 5 test.de"), expected);
  EXPECT_EQ(run_pipeline(folder, ", beam_size: 5"), expected);
  EXPECT_EQ(translate_json_lines(R"({"beam_size": 5})", "--beam-size 2"), expected);
  const Translator translator(Model(folder, {.compute = ComputeChoice::kAuto}), {.beam_size = 2});
  EXPECT_EQ(joined(translator.translate_batch(lines_, Search{.beam_size = 5})), expected);
}

/// The bytes of the command line, with the search defaults of the model folder, for every way to set an option.
TEST_F(CommandLine, ASearchGivesItsTranslationsAndScores) {
  const std::vector<std::pair<Search, std::string>> searches = {
      {{}, ""},
      {{.beam_size = 5}, "--beam-size 5"},
      {{.beam_size = 5, .n_best = 3}, "--beam-size 5 --n-best 3"},
      {{.length_penalty = "gnmt"}, "--length-penalty gnmt"},
      {{.alpha = 0.2}, "--alpha 0.2"},
      {{.decoder = "greedy", .maximum_length = 4}, "--decoder greedy --maximum-length 4"},
      {{.decoder = "sampling", .n_best = 2, .temperature = 0.8, .top_k = 5, .seed = 7},
       "--decoder sampling --n-best 2 --temperature 0.8 --top-k 5 --seed 7"},
      {{.n_best = 2, .alignment = true}, "--n-best 2 --alignment"},
      {{.decoder = "mbr", .n_best = 2, .mbr_samples = 6}, "--decoder mbr --n-best 2 --mbr-samples 6"}};
  const Translator translator(bundled());
  for (const auto& [search, flags] : searches) {
    const auto expected = objects("translate" + model() + "--format jsonl " + flags + " source");
    const auto found = translator.translate_batch(kSources, search);
    ASSERT_EQ(found.size(), expected.size()) << flags;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const core::Json& line = expected[i];
      EXPECT_EQ(found[i].front().text, line["text"]) << flags;
      if (kSources[i].empty()) continue;
      const core::Json list = line.contains("n_best") ? line["n_best"] : core::Json::array({line});
      ASSERT_EQ(found[i].size(), list.size()) << flags;
      for (std::size_t n = 0; n < list.size(); ++n) {
        const Translation& translation = found[i][n];
        EXPECT_EQ(translation.text, list[n]["translation"]) << flags;
        EXPECT_EQ(translation.score, list[n]["score"].get<double>()) << flags;
        EXPECT_EQ(translation.log_probability, list[n]["log_probability"].get<double>());
        EXPECT_EQ(translation.tokens, list[n]["tokens"].get<std::vector<std::string>>());
        EXPECT_EQ(translation.token_scores, list[n]["token_log_probabilities"].get<std::vector<double>>());
        EXPECT_EQ(translation.cut, list[n]["stopped_by"] == "length");
        EXPECT_EQ(translation.alignment.empty(), !list[n].contains("alignment"));
        if (list[n].contains("alignment")) {
          EXPECT_EQ(translation.alignment, list[n]["alignment"].get<std::vector<std::vector<float>>>());
        }
        EXPECT_EQ(translation.expected_utility.has_value(), list[n].contains("expected_utility"));
        EXPECT_TRUE(translation.parts.empty());
      }
    }
    // The translator's own search is the same as that of a call, and one text the same as many.
    EXPECT_EQ(Translator(bundled(), search).translate(kSources[1]),
              flags.find("sampling") == std::string::npos && flags.find("mbr") == std::string::npos
                  ? found[1].front().text
                  : translator.translate(kSources[1], search).front().text);
  }
}

TEST_F(CommandLine, ScoresEmbeddingsAndAlignmentsAreThoseOfTheCommands) {
  const std::vector<std::string> targets = Translator(bundled()).translate_batch(kSources);
  std::vector<SentencePair> pairs;
  std::ofstream file(folder_ / "target");
  for (std::size_t i = 0; i < kSources.size(); ++i) {
    file << targets[i] << "\n";
    pairs.push_back({kSources[i], targets[i]});
  }
  file.close();
  const auto scores = Scorer(bundled_as_stored(), {.length_penalty = "fairseq"}).score_batch(pairs);
  const auto expected_scores = objects("score" + model() + "--length-penalty fairseq --format jsonl source target");
  const auto vectors = Embedder(bundled_as_stored(), {.pooling = Pooling::kMax}).embed_batch(kSources);
  const auto expected_vectors = objects("embed" + model() + "--pooling max source");
  const auto states = Embedder(bundled_as_stored(), {.layer = 1}).embed_tokens(kSources[0]);
  const auto expected_states = objects("embed" + model() + "--pooling none --layer 1 source");
  const auto alignments = Aligner(bundled_as_stored()).align_batch(pairs);
  const auto expected_alignments = objects("align" + model() + "--format jsonl source target");
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(scores[i].score, expected_scores[i]["score"].get<double>());
    EXPECT_EQ(scores[i].log_probability, expected_scores[i]["log_probability"].get<double>());
    EXPECT_EQ(scores[i].tokens, expected_scores[i]["tokens"].get<std::vector<std::string>>());
    EXPECT_EQ(scores[i].token_scores, expected_scores[i]["token_log_probabilities"].get<std::vector<double>>());
    EXPECT_EQ(vectors[i], expected_vectors[i]["embedding"].get<std::vector<float>>());
    EXPECT_EQ(alignments[i].source, expected_alignments[i]["source"].get<std::vector<std::string>>());
    ASSERT_EQ(alignments[i].links.size(), expected_alignments[i]["alignment"].size());
    for (std::size_t link = 0; link < alignments[i].links.size(); ++link) {
      EXPECT_EQ(alignments[i].links[link].source, expected_alignments[i]["alignment"][link][0].get<int>());
      EXPECT_EQ(alignments[i].links[link].target, expected_alignments[i]["alignment"][link][1].get<int>());
    }
  }
  EXPECT_EQ(states.tokens, expected_states[0]["tokens"].get<std::vector<std::string>>());
  std::vector<float> rows;
  for (const core::Json& row : expected_states[0]["states"])
    for (const core::Json& value : row) rows.push_back(value.get<float>());
  EXPECT_EQ(states.values, rows);
  EXPECT_EQ(states.width * states.tokens.size(), rows.size());
  EXPECT_EQ(Scorer(bundled_as_stored()).score(kSources[0], targets[0]).score,
            objects("score" + model() + "--format jsonl source target")[0]["score"].get<double>());
}

TEST_F(CommandLine, LearnersWriteTheFilesOfTheCommands) {
  const auto learned = learn_bpe({folder_ / "source"}, {.vocab_size = 320});
  learned.save(folder_ / "tokenizer.json");
  EXPECT_EQ(run_dragoman(folder_ / "", "learn-bpe --quiet --vocab-size 320 --output command.json source").status, 0);
  EXPECT_EQ(testing::read_text(folder_ / "tokenizer.json"), testing::read_text(folder_ / "command.json"));
  for (const char* normalization : {"identity", "nmt_nfkc"}) {
    LearnUnigramOptions options{.vocab_size = 300};
    options.normalization.name = normalization;
    learn_unigram({folder_ / "source"}, options).save(folder_ / "spm.model");
    EXPECT_EQ(
        run_dragoman(folder_ / "", "learn-unigram --quiet --vocab-size 300 --output command.model --normalization " +
                                       std::string(normalization) + " source")
            .status,
        0);
    EXPECT_TRUE(testing::read_text(folder_ / "spm.model") == testing::read_text(folder_ / "command.model"))
        << normalization;
  }
  for (const char* file : {"tokenizer.json", "spm.model"}) {
    const Tokenizer tokenizer = Tokenizer::open(folder_ / file);
    const std::vector<std::int32_t> ids = tokenizer.encode("Ein Hund");
    EXPECT_EQ(tokenizer.decode(ids), "Ein Hund");
    ASSERT_EQ(tokenizer.tokenize("Ein Hund").size(), ids.size());
    EXPECT_EQ(tokenizer.id(tokenizer.token(ids[0])), ids[0]);
    EXPECT_EQ(tokenizer.id("no such token"), std::nullopt);
    EXPECT_THAT(error_of([&] { tokenizer.token(tokenizer.size()); }), HasSubstr("ids are 0 to"));
  }
}

/// With its folder gone nothing can be loaded again; what is packed has one generation, and there is one engine.
TEST(OneModel, ServesAllWithoutBeingLoadedOrPackedAgain) {
  const testing::TinyModel folder;
  const Model model(folder.path(), {.threads = 2});
  const std::int64_t packed = model.view().model->parameters().generation();
  std::filesystem::remove_all(folder.path());
  const Translator translator(model);
  const Translator another(model, {.decoder = "greedy"});
  const Scorer scorer(model);
  const Embedder embedder(model);
  const Aligner aligner(model, {.reverse_model = model});
  const std::string text = translator.translate("the cat sat");
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(translator.translate("the cat sat", Search{.decoder = "greedy"}).front().text,
            another.translate("the cat sat"));
  EXPECT_LT(scorer.score("the cat", "ein Hund").log_probability, 0);
  EXPECT_EQ(embedder.embed("the cat").size(), 16U);
  EXPECT_FALSE(aligner.align("the cat", "ein Hund").links.empty());
  EXPECT_EQ(Tokenizer(model.source_tokenizer()).decode(Tokenizer(model.target_tokenizer()).encode(text)), text);
  EXPECT_EQ(model.view().model->parameters().generation(), packed);
  const Model handle = model;
  EXPECT_EQ(&handle.engine(), &model.engine());
  EXPECT_EQ(handle.view().model, model.view().model);
}

/// The handles that a translator holds keep its model.
TEST(OneModel, OutlivesItsOwnHandle) {
  const testing::TinyModel folder;
  std::optional<Model> model(std::in_place, folder.path());
  std::optional<Translator> translator(std::in_place, *model);
  const std::string text = translator->translate("the cat sat");
  model.reset();
  const Translator copy = *translator;
  translator.reset();
  EXPECT_EQ(copy.translate("the cat sat"), text);
}

TEST(OneModel, ThreadsCreateAndUseTranslatorsAtTheSameTime) {
  const testing::TinyModel folder;
  const Model model(folder.path(), {.threads = 2});
  const std::vector<std::string> texts = {"the cat sat", "ein Hund", "the dog sat on the log", "und eine Katze"};
  const Model alone(folder.path(), {.threads = 1});
  std::vector<std::vector<std::string>> expected;
  for (const std::int32_t beam : {1, 2, 3, 4})
    expected.push_back(Translator(alone, {.beam_size = beam}).translate_batch(texts));
  const Score score = Scorer(alone).score("the cat", "ein Hund");
  std::vector<std::vector<std::string>> found(expected.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < expected.size(); ++i)
      threads.emplace_back([&, i] {
        for (int round = 0; round < 3; ++round) {
          found[i] = Translator(model, {.beam_size = static_cast<std::int32_t>(i + 1)}).translate_batch(texts);
          EXPECT_EQ(Scorer(model).score("the cat", "ein Hund").score, score.score);
          const Model own(folder.path(), {.threads = 1});
          EXPECT_EQ(Translator(own, {.beam_size = static_cast<std::int32_t>(i + 1)}).translate(texts[0]),
                    expected[i][0]);
        }
      });
  }
  EXPECT_EQ(found, expected);
}

TEST(OneModel, OptionsAreThoseOfTheModel) {
  const testing::TinyModel folder;
  EXPECT_THAT(error_of([&] { Model(folder.path(), {.device = "nowhere"}); }), HasSubstr("nowhere"));
  EXPECT_THAT(error_of([&] { Model(folder.file("absent")); }), HasSubstr("absent"));
  const Model in_int8(folder.path(), {.compute = ComputeChoice::kI8});
  EXPECT_TRUE(tensor::is_int8(in_int8.compute_type()));
  EXPECT_FALSE(Translator(in_int8).translate("the cat sat").empty());
  const Model in_double(folder.path(), {.device = "reference"});
  EXPECT_EQ(in_double.device(), tensor::Device::kReference);
  EXPECT_EQ(Translator(in_double).translate("the cat sat"), Translator(Model(folder.path())).translate("the cat sat"));
}

TEST(Conversion, IsThatOfTheCommand) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path model = in_source("examples/multi30k/model");
  convert(model, folder / "ct2", {.to = "ctranslate2"});
  convert(folder / "ct2", folder / "back");
  quantize(folder / "back", folder / "int8");
  const std::string text = "Eine Frau spielt Gitarre.";
  for (const char* made : {"back", "int8"})
    EXPECT_EQ(Translator(Model(folder / made)).translate(text), Translator(bundled()).translate(text)) << made;
  std::vector<std::string> warnings;
  convert(model / "tokenizer.json", folder / "t.model", {.log = [&](LogLevel level, std::string_view message) {
            if (level == LogLevel::kWarning) warnings.emplace_back(message);
          }});
  const testing::Outcome command =
      run_dragoman(folder / "", "convert '" + (model / "tokenizer.json").string() + "' -o theirs.model");
  EXPECT_EQ(command.status, 0) << command.error;
  EXPECT_EQ(testing::read_text(folder / "t.model"), testing::read_text(folder / "theirs.model"));
  EXPECT_EQ(warnings.empty(), command.error.find("warning") == std::string::npos) << command.error;
  EXPECT_THAT(error_of([&] { convert(model, folder / "x", {.to = "onnx"}); }), HasSubstr("ctranslate2"));
  EXPECT_THAT(error_of([&] { convert(model / "tokenizer.json", folder / "x"); }), HasSubstr("give it with `to`"));
  EXPECT_THAT(error_of([&] { convert(folder / "missing", folder / "x"); }), HasSubstr("missing"));
  EXPECT_THAT(error_of([&] { convert(model, folder / "x", {.from = "marian", .to = "ctranslate2"}); }),
              HasSubstr("`from` has no effect with `to` ctranslate2"));
  EXPECT_THAT(error_of([&] { convert(folder / "ct2", folder / "x", {.to = "gpt2"}); }), HasSubstr("is a model"));
  EXPECT_THAT(
      error_of([&] { convert(model / "tokenizer.json", folder / "x.model", {.import_options = "{\"a\": 1}"}); }),
      HasSubstr("`import_options` are for a model of another toolkit"));
  std::filesystem::copy_file(model / "tokenizer.json", folder / "own.json");
  EXPECT_THAT(error_of([&] { convert(folder / "own.json", folder / "own.json"); }), HasSubstr("own.json"));
  EXPECT_EQ(testing::read_text(folder / "own.json"), testing::read_text(model / "tokenizer.json"));
  EXPECT_THAT(error_of([&] { quantize(model, folder / "x", ComputeChoice::kF16); }), HasSubstr("fp16"));
}

TEST(Training, WritesTheModelOfItsConfiguration) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "de") << "ein Hund\neine Katze\nder Hund\ndie Katze\n";
  std::ofstream(folder / "en") << "a dog\na cat\nthe dog\nthe cat\n";
  learn_bpe({folder / "de", folder / "en"}, {.vocab_size = 280}).save(folder / "tokenizer.json");
  TrainConfig config = TrainConfig::parse(
      "model: {d_model: 16, heads: 2, feed_forward: 24, encoder_layers: 1, decoder_layers: 1}\n"
      "training: {updates: 3, batch_tokens: 1000}\n");
  const auto path = [&](const char* name) { return (folder / name).string(); };
  config.set("output", path("run"))
      .set("data.tokenizer", path("tokenizer.json"))
      .set("data.train", "{source: " + path("de") + ", target: " + path("en") + "}");
  TrainConfig wrong = config;
  wrong.set("training.updatse", "3");
  EXPECT_THAT(error_of([&] { train(wrong); }), HasSubstr("updates"));
  std::uint64_t reports = 0;
  const TrainResult result = train(config, {.progress = [&](const Progress&) { ++reports; }});
  EXPECT_EQ(result.updates, 3);
  EXPECT_EQ(result.best, std::nullopt);
  EXPECT_GT(reports, 0U);
  EXPECT_EQ(Translator(Model(result.model)).translate_batch({"ein Hund", "eine Katze"}).size(), 2U);
  EXPECT_THAT(error_of([&] { train(config); }), HasSubstr("run"));
  config.set("training.updates", "3");
  EXPECT_EQ(train(config, {.resume = true}).updates, 3);
}

}  // namespace
}  // namespace dragoman
