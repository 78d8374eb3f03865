#include "dragoman/formats/model_folder.h"

#include "folder_test_support.h"
#include "test_data.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/formats/average.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_importer.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::formats {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::make_model;
using testing::names_in;
using testing::PaperModel;
using testing::save_tokenizer;
using testing::tokenizer_json;
using ::testing::UnorderedElementsAre;
using testing::write_model;

/// Writes a model, changes one file, and says what open() thinks of it.
std::string error_after(const std::string& file, const std::function<void(const std::filesystem::path&)>& change) {
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model());
  change(folder / "m" / file);
  return error_of([&] { ModelFolder::open(folder / "m"); });
}

std::string error_with_config(const std::function<void(core::Json&)>& change) {
  return error_after("config.json", [&](const std::filesystem::path& path) {
    core::Json config = core::load_json(path.string());
    change(config);
    core::write_file(path, config.dump());
  });
}

TEST(ModelFolder, WhatIsWrittenIsReadBack) {
  const TemporaryFolder folder;
  const auto model = make_model();
  write_model(folder / "m", *model);
  EXPECT_THAT(names_in(folder / "m"),
              UnorderedElementsAre("config.json", "model.safetensors", "tokenizer.json", "README.md", "SHA256SUMS"));
  EXPECT_TRUE(is_model_folder(folder / "m"));
  EXPECT_EQ(core::read_file(folder / "m" / "README.md"), "A card.\n");
  EXPECT_THAT(verify_checksums(folder / "m"),
              ElementsAre("README.md", "config.json", "model.safetensors", "tokenizer.json"));

  ModelFolder opened = ModelFolder::open(folder / "m");
  EXPECT_EQ(opened.config().model_type, "paper");
  EXPECT_EQ(opened.config().plugin, "");
  EXPECT_EQ(opened.config().model, model->config());
  EXPECT_EQ(nn::to_json(opened.config().sequences), nn::to_json(model->spec()));
  EXPECT_EQ(opened.source_tokenizer(), opened.target_tokenizer());
  EXPECT_EQ(opened.source_tokenizer()->encode("ab"), (std::vector<std::int32_t>{3, 4}));

  PaperModel loaded(opened.config().sequences);
  opened.load(loaded);
  for (std::int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(tensor::element(loaded.parameters().all()[0].value, i, 1),
              tensor::element(model->parameters().all()[0].value, i, 1));
}

TEST(ModelFolder, IsReadAsAStreamToo) {
  const TemporaryFolder folder;
  const auto model = make_model();
  write_model(folder / "m", *model);
  const std::unique_ptr<OpenedModel> opened = open_model(folder / "m", {});
  EXPECT_TRUE(opened->is_model_folder());
  EXPECT_EQ(opened->path(), folder / "m");
  EXPECT_EQ(opened->card(), "A card.\n");
  EXPECT_EQ(opened->shortlist(), "");
  const ModelTokenizers tokenizers = opened->tokenizers();
  EXPECT_TRUE(tokenizers.is_joint());
  EXPECT_EQ(tokenizers.of_target().content, core::read_file(folder / "m" / "tokenizer.json"));
  const OpenedTokenizers made = opened->open_tokenizers(open_built_in_tokenizer);
  EXPECT_EQ(made.source, made.target);
  EXPECT_EQ(made.source->size(), 5);
  opened->check(model->parameters());
  for (int round = 0; round < 2; ++round) {
    for (const nn::Parameter& parameter : model->parameters().all()) {
      std::vector<float> values(static_cast<std::size_t>(parameter.rows * parameter.cols));
      opened->read(parameter, {values.data(), parameter.rows, parameter.cols, parameter.cols, tensor::DType::kF32,
                               tensor::Device::kCpu});
      for (std::int64_t row = 0; row < parameter.rows; ++row)
        for (std::int64_t col = 0; col < parameter.cols; ++col)
          EXPECT_EQ(values[static_cast<std::size_t>(row * parameter.cols + col)],
                    tensor::element(parameter.value, row, col));
    }
    opened->finish();
  }
  PaperModel wider(opened->config().sequences, 3);
  EXPECT_THAT(error_of([&] { opened->check(wider.parameters()); }), HasSubstr("the weights do not fit"));
}

TEST(ModelFolder, HoldsOneTokenizerForEachSide) {
  const TemporaryFolder folder;
  PaperModel model({.source_vocabulary = 6, .target_vocabulary = 5});
  model.parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
  write_model_folder(folder / "m", {.model_type = "paper",
                                    .plugin = "my-plugin",
                                    .model = &model,
                                    .source_tokenizer = {.content = tokenizer_json("abc")},
                                    .target_tokenizer = {.content = tokenizer_json("xy")},
                                    .dtype = tensor::DType::kF16,
                                    .metadata = {{"format", "pt"}}});
  const ModelFolder opened = ModelFolder::open(folder / "m");
  EXPECT_FALSE(opened.has_joint_tokenizer());
  EXPECT_EQ(opened.source_tokenizer()->size(), 6);
  EXPECT_EQ(opened.target_tokenizer()->size(), 5);
  EXPECT_EQ(opened.config().plugin, "my-plugin");
  const SafetensorsFile weights = SafetensorsFile::open(opened.weights_path());
  EXPECT_EQ(weights.find("embedding")->type, "F16");
  EXPECT_EQ(weights.metadata().at("format"), "pt");
}

TEST(ModelFolder, SaysWhatItsWeightsAreMultipliedIn) {
  const TemporaryFolder folder;
  PaperModel model({.source_vocabulary = 5, .target_vocabulary = 5});
  model.parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
  for (const std::optional<tensor::ComputeChoice> compute :
       {std::optional<tensor::ComputeChoice>(), std::optional(tensor::ComputeChoice::kF32),
        std::optional(tensor::ComputeChoice::kI8), std::optional(tensor::ComputeChoice::kAuto)}) {
    write_model_folder(folder / "m", {.model_type = "paper",
                                      .model = &model,
                                      .tokenizer = {.content = tokenizer_json("ab")},
                                      .compute = compute,
                                      .metadata = {}});
    EXPECT_EQ(ModelFolder::open(folder / "m").config().compute, compute);
    const core::Json written = core::load_json(folder / "m" / "config.json");
    // A folder without a type is written so that older programs can read it.
    EXPECT_EQ(written.contains("compute"), compute.has_value());
    EXPECT_EQ(written["format_version"], compute ? 2 : 1);
  }
  EXPECT_THAT(error_with_config([](core::Json& config) {
                config["format_version"] = 2;
                config["compute"] = "int4";
              }),
              HasSubstr("compute: must be fp32, bf16, fp16, int8 or auto"));
  EXPECT_THAT(error_with_config([](core::Json& config) { config["compute"] = "int8"; }),
              HasSubstr("unknown key 'compute'"));
}

// --- tokenizers of other kinds ---

/// Reads the letters of a file as the JSON of folder_test_support.h has them, if the kind is `letters`.
std::unique_ptr<tokenizer::Tokenizer> open_letters(const tokenizer::TokenizerSpec& stored,
                                                   const tokenizer::TokenizerFile& file, const std::string& where) {
  if (stored.type != "letters") return open_built_in_tokenizer(stored, file, where);
  return std::make_unique<tokenizer::BpeTokenizer>(
      tokenizer::BpeTokenizer::parse(tokenizer_json(file.content), file.path.string()));
}

const tokenizer::TokenizerSpec kLetters{.type = "letters", .options = core::Json{{"upper", true}}, .plugin = "good"};

TEST(ModelFolder, WithATokenizerJsonIsWhatItAlwaysWas) {
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model());
  EXPECT_EQ(core::read_file(folder / "m" / "config.json"), R"({
  "format_version": 1,
  "model_type": "paper",
  "sequences": {
    "source_vocabulary": 5,
    "target_vocabulary": 5,
    "begin": 1,
    "end": 2,
    "unknown": 0,
    "decoder_start": 1,
    "maximum_source_length": 512,
    "maximum_target_length": 512
  },
  "model": {
    "width": 2
  }
}
)");
}

TEST(ModelFolder, NamesATokenizerOfAnotherKind) {
  const TemporaryFolder folder;
  const auto model = make_model();
  write_model_folder(folder / "m", {.model_type = "paper",
                                    .model = model.get(),
                                    .tokenizer = kLetters.with_content("ab"),
                                    .card = "A card.\n",
                                    .opener = open_letters});
  EXPECT_THAT(names_in(folder / "m"),
              UnorderedElementsAre("config.json", "model.safetensors", "tokenizer.model", "README.md", "SHA256SUMS"));
  EXPECT_EQ(core::read_file(folder / "m" / "tokenizer.model"), "ab");
  const core::Json config = core::load_json(folder / "m" / "config.json");
  EXPECT_EQ(config["format_version"], 2);
  EXPECT_EQ(config["tokenizer"].dump(), R"({"type":"letters","plugin":"good","options":{"upper":true}})");

  const ModelFolder opened = ModelFolder::open(folder / "m", open_letters);
  ASSERT_TRUE(opened.config().tokenizers.has_value());
  EXPECT_EQ(opened.config().tokenizers->source, kLetters);
  EXPECT_TRUE(opened.has_joint_tokenizer());
  EXPECT_EQ(opened.source_tokenizer(), opened.target_tokenizer());
  EXPECT_EQ(opened.source_tokenizer()->encode("ab"), (std::vector<std::int32_t>{3, 4}));

  // Who knows no such kind sees all but the tokenizer.
  const ModelFolder looked_at = ModelFolder::open(folder / "m");
  EXPECT_EQ(looked_at.source_tokenizer(), nullptr);
  EXPECT_TRUE(looked_at.has_joint_tokenizer());

  // The next model that takes its place leaves nothing of it.
  write_model(folder / "m", *model);
  EXPECT_THAT(names_in(folder / "m"),
              UnorderedElementsAre("config.json", "model.safetensors", "tokenizer.json", "README.md", "SHA256SUMS"));
}

TEST(ModelFolder, TheKindsOfBothSidesMayDiffer) {
  const TemporaryFolder folder;
  PaperModel model({.source_vocabulary = 6, .target_vocabulary = 5});
  model.parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
  write_model_folder(folder / "m", {.model_type = "paper",
                                    .model = &model,
                                    .source_tokenizer = {.content = tokenizer_json("abc")},
                                    .target_tokenizer = kLetters.with_content("xy"),
                                    .opener = open_letters});
  const ModelFolder opened = ModelFolder::open(folder / "m", open_letters);
  EXPECT_FALSE(opened.has_joint_tokenizer());
  EXPECT_EQ(opened.source_tokenizer()->size(), 6);
  EXPECT_EQ(opened.target_tokenizer()->size(), 5);
  EXPECT_EQ(core::load_json(folder / "m" / "config.json")["tokenizer"].dump(),
            R"({"source":{"type":"tokenizer-json"},)"
            R"("target":{"type":"letters","plugin":"good","options":{"upper":true}}})");
  EXPECT_TRUE(std::filesystem::exists(folder / "m" / "source.tokenizer.json"));
  EXPECT_TRUE(std::filesystem::exists(folder / "m" / "target.tokenizer.model"));
}

TEST(ModelFolder, BuiltInKindsAreOpenedByWhoeverLooks) {
  const TemporaryFolder folder;
  const std::string file = dragoman::testing::in_source("tests/tokenizer/golden/sentencepiece_unigram_plain.model");
  const auto original = tokenizer::load_tokenizer(file);
  const auto model = make_model(7, original->size());
  write_model_folder(folder / "m", {.model_type = "paper",
                                    .model = model.get(),
                                    .tokenizer = {.type = "sentencepiece", .content = core::read_file(file)}});
  const ModelFolder opened = ModelFolder::open(folder / "m");
  ASSERT_NE(opened.source_tokenizer(), nullptr);
  for (const char* text : {"Hello world", "Das ist ein Satz."})
    EXPECT_EQ(opened.source_tokenizer()->encode(text), original->encode(text)) << text;
}

/// Says what open() thinks of a folder with a tokenizer of letters after a change of its configuration.
std::string error_with_kind(const std::function<void(core::Json&)>& change, bool remove_file = false) {
  const TemporaryFolder folder;
  const auto model = make_model();
  write_model_folder(folder / "m",
                     {.model_type = "paper", .model = model.get(), .tokenizer = kLetters.with_content("ab")});
  core::Json config = core::load_json((folder / "m" / "config.json").string());
  change(config);
  core::write_file(folder / "m" / "config.json", config.dump());
  if (remove_file) std::filesystem::remove(folder / "m" / "tokenizer.model");
  return error_of([&] { ModelFolder::open(folder / "m", open_letters); });
}

TEST(ModelFolder, FaultsOfATokenizersEntryAreNamed) {
  EXPECT_EQ(error_with_kind([](core::Json&) {}), "no error");
  EXPECT_THAT(error_with_kind([](core::Json& config) { config["format_version"] = 1; }),
              HasSubstr("config.json: unknown key 'tokenizer'"));
  EXPECT_THAT(error_with_kind([](core::Json& config) { config["tokenizer"].erase("type"); }),
              HasSubstr("config.json: tokenizer: the key 'type' is missing"));
  EXPECT_THAT(error_with_kind([](core::Json& config) { config["tokenizer"]["type"] = "../\x1B[2J"; }),
              HasSubstr("config.json: tokenizer: type: must be the name of a registered kind"));
  EXPECT_THAT(error_with_kind([](core::Json& config) { config["tokenizer"]["plugin"] = "./evil.so"; }),
              HasSubstr("config.json: tokenizer: plugin: must be the plain name of a plugin"));
  EXPECT_THAT(error_with_kind([](core::Json& config) { config["tokenizer"]["options"] = 3; }),
              HasSubstr("config.json: tokenizer: options: must hold keys and values"));
  EXPECT_THAT(error_with_kind([](core::Json& config) { config["tokenizer"]["plugn"] = "good"; }),
              HasSubstr("unknown key 'plugn'; did you mean 'plugin'?"));
  EXPECT_THAT(error_with_kind([](core::Json& config) {
                config["tokenizer"] = {{"source", config["tokenizer"]}};
              }),
              HasSubstr("config.json: tokenizer: target: the key 'type' is missing"));
  EXPECT_THAT(error_with_kind([](core::Json& config) { config["tokenizer"]["type"] = "tokenizer-json"; }),
              AllOf(HasSubstr("tokenizer.json: is missing"), HasSubstr("config.json: tokenizer names")));
  EXPECT_THAT(error_with_kind([](core::Json&) {}, true),
              AllOf(HasSubstr("tokenizer.model: is missing, the tokenizer of the type 'letters'"),
                    HasSubstr("get the whole folder")));
  EXPECT_THAT(error_with_kind([](core::Json& config) {
                config["tokenizer"] = {{"type", "sentencepiece"}, {"options", {{"lower", true}}}};
              }),
              AllOf(HasSubstr("tokenizer.model")));
  EXPECT_THAT(error_with_kind([](core::Json& config) { config["sequences"]["source_vocabulary"] = 9; }),
              AllOf(HasSubstr("source_vocabulary is 9"), HasSubstr("tokenizer.model has 5 pieces")));
}

TEST(ModelFolder, FaultsOfTheConfigurationAreNamed) {
  EXPECT_THAT(
      error_with_config([](core::Json& config) { config["format_version"] = 4; }),
      HasSubstr("config.json: format_version is '4'; this program reads 1 to 3; use the program that wrote it"));
  EXPECT_THAT(error_with_config([](core::Json& config) { config["format_version"] = 0; }),
              HasSubstr("config.json: format_version is '0'; it must be a whole number from 1"));
  EXPECT_THAT(error_with_config([](core::Json& config) { config.erase("model_type"); }),
              HasSubstr("the key 'model_type' is missing"));
  EXPECT_THAT(error_with_config([](core::Json& config) { config["plugin"] = "../../evil"; }),
              HasSubstr("plain name of a plugin"));
  EXPECT_THAT(error_with_config([](core::Json& config) { config["model"] = 3; }),
              HasSubstr("model: must hold keys and values"));
  EXPECT_THAT(error_with_config([](core::Json& config) { config["sequnces"] = config["sequences"]; }),
              HasSubstr("unknown key 'sequnces'; did you mean 'sequences'?"));
  EXPECT_THAT(error_after("config.json",
                          [](const auto& path) { core::write_file(path, R"({"model":)" + std::string(500000, '[')); }),
              HasSubstr("nested deeper than 100 levels at line 1, column 109"));
  EXPECT_THAT(error_after("config.json", [](const auto& path) { core::write_file(path, std::string(2 << 20, ' ')); }),
              HasSubstr("config.json: larger than the 1048576 bytes"));
}

TEST(ModelFolder, TokenizerAndConfigurationMustAgree) {
  EXPECT_THAT(
      error_after("tokenizer.json", [](const auto& path) { save_tokenizer(path, "abc"); }),
      AllOf(HasSubstr("config.json: sequences.source_vocabulary is 5"), HasSubstr("tokenizer.json has 6 pieces")));
  EXPECT_THAT(error_with_config([](core::Json& config) { config["sequences"]["target_vocabulary"] = 7; }),
              HasSubstr("sequences.target_vocabulary is 7"));
  EXPECT_THAT(error_with_config([](core::Json& config) { config["sequences"]["end"] = 3; }),
              HasSubstr("sequences.end is 3, but that is the piece 'a' of "));
  EXPECT_THAT(error_with_config([](core::Json& config) { config["sequences"]["begin"] = 4; }),
              HasSubstr("sequences.begin is 4"));
  EXPECT_THAT(error_with_config([](core::Json& config) { config["sequences"]["unknown"] = 2; }),
              HasSubstr("sequences.unknown is 2, but the unknown token of "));
}

TEST(ModelFolder, MissingFilesAreNamed) {
  const auto remove = [](const std::filesystem::path& path) { std::filesystem::remove(path); };
  EXPECT_THAT(error_after("config.json", remove), HasSubstr("has no config.json, so it is no model folder"));
  EXPECT_THAT(error_after("tokenizer.json", remove), HasSubstr("/tokenizer.json: cannot open"));
  EXPECT_THAT(error_after("tokenizer.json",
                          [](const std::filesystem::path& path) {
                            std::filesystem::remove(path);
                            std::filesystem::create_symlink(path.filename(), path);
                          }),
              HasSubstr("/tokenizer.json: cannot open"));
  EXPECT_THAT(error_of([] { ModelFolder::open("/nowhere"); }), HasSubstr("/nowhere: there is no such folder"));
}

TEST(ModelFolder, WeightsOfAnotherSizeAreExplained) {
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model());
  core::Json config = core::load_json(folder / "m" / "config.json");
  config["model"]["width"] = 3;
  core::write_file(folder / "m" / "config.json", config.dump());
  ModelFolder opened = ModelFolder::open(folder / "m");
  PaperModel model(opened.config().sequences, 3);
  EXPECT_THAT(error_of([&] { opened.load(model); }),
              AllOf(HasSubstr("'embedding' (the configuration says [5, 3], the file has [5, 2]; see model.width = 3 in "
                              "the configuration)"),
                    HasSubstr("'bias' (the configuration says [3], the file has [2]")));
}

TEST(ModelFolder, SaysHowItsModelIsBestSearched) {
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model());
  const std::string weights = core::read_file(folder / "m" / "model.safetensors");
  const core::Json first = {{"beam_size", 8}, {"alpha", 1.8}};
  write_decoding_defaults(folder / "m", folder / "other", first);
  EXPECT_EQ(ModelFolder::open(folder / "other").config().decoding, first);
  EXPECT_TRUE(ModelFolder::open(folder / "m").config().decoding.empty()) << "that is as it was";
  EXPECT_EQ(core::read_file(folder / "other" / "model.safetensors"), weights);
  EXPECT_EQ(core::read_file(folder / "other" / "README.md"), "A card.\n");
  EXPECT_EQ(names_in(folder / "other"), names_in(folder / "m"));

  write_decoding_defaults(folder / "other", folder / "other", {{"alpha", 1}});
  EXPECT_EQ(ModelFolder::open(folder / "other").config().decoding, (core::Json{{"alpha", 1}}));
  EXPECT_EQ(verify_checksums(folder / "other").size(), 4U);
  write_decoding_defaults(folder / "other", folder / "other", core::Json::object());
  EXPECT_EQ(core::load_json(folder / "other" / "config.json")["format_version"], 1) << "an older program reads it";
}

TEST(ModelFolder, ACopyDoesNotVouchForWeightsWithoutSums) {
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model());
  std::filesystem::remove(folder / "m" / "SHA256SUMS");
  write_decoding_defaults(folder / "m", folder / "copy", {{"alpha", 1}});
  write_shortlist(folder / "copy", folder / "listed", "a list");
  for (const char* name : {"copy", "listed"})
    EXPECT_FALSE(std::filesystem::exists(folder / name / "SHA256SUMS")) << name;
}

TEST(ModelFolder, HasAShortlistOfItsOwn) {
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model());
  EXPECT_EQ(ModelFolder(folder / "m").shortlist(), "");
  write_shortlist(folder / "m", folder / "listed", "a list");
  const ModelConfig config = ModelFolder::open(folder / "listed").config();
  EXPECT_EQ(config.decoding, (core::Json{{"shortlist", "shortlist.bin"}}));
  EXPECT_EQ(ModelFolder(folder / "listed").shortlist(), "a list");
  EXPECT_EQ(verify_checksums(folder / "listed").size(), 5U);
  write_shortlist(folder / "listed", folder / "listed", "another");
  EXPECT_EQ(ModelFolder(folder / "listed").shortlist(), "another");
  write_decoding_defaults(folder / "listed", folder / "tuned", {{"shortlist", "shortlist.bin"}, {"alpha", 1}});
  EXPECT_EQ(ModelFolder(folder / "tuned").shortlist(), "another");
  average_models({folder / "tuned", folder / "listed"}, folder / "mean");
  EXPECT_EQ(ModelFolder(folder / "mean").shortlist(), "another");
  write_decoding_defaults(folder / "listed", folder / "plain", {{"alpha", 1}});
  EXPECT_FALSE(std::filesystem::exists(folder / "plain" / "shortlist.bin")) << "nothing would read it";
  std::filesystem::remove(folder / "listed" / "shortlist.bin");
  EXPECT_THAT(error_of([&] { ModelFolder::open(folder / "listed"); }),
              AllOf(HasSubstr("config.json: decoding names shortlist.bin, which the folder lacks"),
                    HasSubstr("bring it, or take the key out")));
}

/// A reader of text would unpack such a file, or refuse it.
TEST(ModelFolder, ACopyKeepsBytesThatLookCompressed) {
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model());
  write_shortlist(folder / "m", folder / "m", "a list");
  const std::string bytes = "\x1f\x8b\x08 is how gzip begins";
  core::write_file(folder / "m" / "shortlist.bin", bytes);
  write_checksums(folder / "m");
  write_decoding_defaults(folder / "m", folder / "copy", {{"shortlist", "shortlist.bin"}, {"alpha", 1}});
  average_models({folder / "m", folder / "m"}, folder / "mean");
  for (const char* name : {"copy", "mean"}) {
    std::ifstream copy(folder / name / "shortlist.bin", std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(copy), {}), bytes) << name;
  }
}

TEST(ModelFolder, WhoWritesItAnewLearnsWhetherOthersDidMeanwhile) {
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model());
  const FolderState state(folder / "m");
  EXPECT_NO_THROW(state.require_unchanged());
  write_shortlist(folder / "m", folder / "m", "a list");
  EXPECT_THAT(error_of([&] { state.require_unchanged(); }), HasSubstr("has changed since it was read"));
}

TEST(ModelFolder, RefusesDecodingDefaultsThatMakeNoSense) {
  const auto error_with = [](const core::Json& decoding) {
    return error_with_config([&](core::Json& config) {
      config["format_version"] = 2;
      config["decoding"] = decoding;
    });
  };
  EXPECT_THAT(error_with({{"beam_size", 0}}), AllOf(HasSubstr("config.json: decoding: beam_size"), HasSubstr("is 0")));
  EXPECT_THAT(error_with({{"beam_sizes", 4}}), AllOf(HasSubstr("config.json: decoding"), HasSubstr("beam_size")));
  EXPECT_THAT(error_with("beam"), AllOf(HasSubstr("decoding"), HasSubstr("keys and values")));
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model());
  EXPECT_THAT(error_of([&] {
                write_decoding_defaults(folder / "m", folder / "n", {{"beam_size", 0}});
              }),
              HasSubstr("beam_size"));
  EXPECT_FALSE(std::filesystem::exists(folder / "n"));
  std::ofstream(folder / "m" / "model.safetensors", std::ios::app) << "x";
  EXPECT_THAT(error_of([&] {
                write_decoding_defaults(folder / "m", folder / "n", {{"beam_size", 2}});
              }),
              HasSubstr("model.safetensors"))
      << "what is damaged must not get new sums";
}

}  // namespace
}  // namespace dragoman::formats
