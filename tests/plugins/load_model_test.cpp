#include "dragoman/plugins/load_model.h"

#include "error_message.h"
#include "test_data.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::plugins {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;

const std::filesystem::path kSsruFile = testing::built("ssru_plugin");

/// Folders with an SSRU model that say this and that about its type and its plugin.
class LoadModelTest : public ::testing::Test {
 protected:
  LoadModelTest() {
    std::ofstream(folder_ / "corpus") << "the cat sat on the mat\nthe dog sat on the log\n";
    const std::vector<std::filesystem::path> inputs = {folder_ / "corpus"};
    tokenizer::LearnOptions learn;
    learn.vocab_size = 300;
    const auto tokenizer = tokenizer::learn_bpe(inputs, learn);
    tokenizer_json_ = tokenizer.to_json();

    const Host host({.plugins = {kSsruFile.string()}});
    const ModelEntry& entry = host.registry().models().get("ssru");
    nn::SequenceSpec spec;
    spec.source_vocabulary = spec.target_vocabulary = tokenizer.size();
    model_ = entry.make(spec, entry.example);
    model_->parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
    model_->parameters().initialise(5);
  }

  std::filesystem::path write(const std::string& type, const std::string& plugin) {
    formats::write_model_folder(folder_ / "model", {.model_type = type,
                                                    .plugin = plugin,
                                                    .model = model_.get(),
                                                    .tokenizer = {.content = tokenizer_json_},
                                                    .card = "test",
                                                    .metadata = {}});
    return folder_ / "model";
  }

  testing::TemporaryFolder folder_;
  std::string tokenizer_json_;
  std::unique_ptr<nn::Seq2SeqModel> model_;
};

TEST_F(LoadModelTest, LoadsThePluginThatTheModelNames) {
  Host host({.plugin_folder = kSsruFile.parent_path()});
  const LoadedModel loaded = load_model(write("ssru", "ssru"), host);
  EXPECT_NE(host.loader().find("ssru"), nullptr);
  EXPECT_EQ(loaded.source_tokenizer, loaded.target_tokenizer);
  EXPECT_EQ(loaded.source_tokenizer->size(), model_->spec().source_vocabulary);
  EXPECT_EQ(loaded.model->config(), model_->config());
  for (std::size_t p = 0; p < model_->parameters().all().size(); ++p) {
    const nn::Parameter& expected = model_->parameters().all()[p];
    const nn::Parameter& actual = loaded.model->parameters().all()[p];
    ASSERT_EQ(actual.name, expected.name);
    for (std::int64_t i = 0; i < expected.rows; ++i)
      for (std::int64_t j = 0; j < expected.cols; ++j)
        ASSERT_EQ(tensor::element(actual.value, i, j), tensor::element(expected.value, i, j)) << expected.name;
  }
}

TEST_F(LoadModelTest, TheReferenceDeviceGetsDoubles) {
  Host host({.plugin_folder = kSsruFile.parent_path()});
  const LoadedModel loaded = load_model(write("ssru", "ssru"), host, {.device = tensor::Device::kReference});
  const nn::Parameter& first = loaded.model->parameters().all().front();
  EXPECT_EQ(first.value.dtype, tensor::DType::kF64);
  EXPECT_EQ(tensor::element(first.value, 0, 0), tensor::element(model_->parameters().all().front().value, 0, 0));
}

TEST_F(LoadModelTest, ATrainableModelHasMemoryOfItsOwn) {
  Host host({.plugin_folder = kSsruFile.parent_path()});
  const std::filesystem::path path = write("ssru", "ssru");
  const LoadedModel trainable = load_model(path, host, {.trainable = true});
  trainable.model->parameters().attach_gradients(tensor::host_memory());
  tensor::set_element(trainable.model->parameters().all().front().value, 0, 0, 99);
  const LoadedModel again = load_model(path, host);
  EXPECT_NE(tensor::element(again.model->parameters().all().front().value, 0, 0), 99);
}

TEST_F(LoadModelTest, APluginThatIsNotAllowedMustBeThereAlready) {
  const std::filesystem::path path = write("ssru", "ssru");
  Host host({.plugin_folder = kSsruFile.parent_path()});
  EXPECT_THAT(error_of([&] { load_model(path, host, {.may_load_plugin = false}); }),
              AllOf(HasSubstr("the model needs the plugin 'ssru', which is not loaded"), HasSubstr("`plugin`")));
  host.loader().load(kSsruFile.string());
  EXPECT_NE(load_model(path, host, {.may_load_plugin = false}).model, nullptr);
}

TEST_F(LoadModelTest, APluginThatIsNotInstalled) {
  Host host({.plugin_folder = folder_.path()});
  EXPECT_THAT(error_of([&] { load_model(write("ssru", "ssru"), host); }),
              HasSubstr("the plugin 'ssru' is not installed"));
}

TEST_F(LoadModelTest, AFolderCannotNameCodeOfItsOwn) {
  Host host({.plugin_folder = folder_.path()});
  const std::filesystem::path path = write("ssru", "ssru");
  std::filesystem::copy_file(kSsruFile, path / "ssru.so");
  core::Json config = core::load_json((path / "config.json").string());
  config["plugin"] = "model/ssru";
  std::ofstream(path / "config.json") << config.dump();
  error_of([&] { load_model(path, host); });
  EXPECT_TRUE(host.loader().loaded().empty());
}

TEST_F(LoadModelTest, AnUnknownTypeIsNamedWithTheFileAndTheNearestOne) {
  Host host;
  EXPECT_THAT(error_of([&] { load_model(write("transforner", ""), host); }),
              AllOf(HasSubstr("config.json"), HasSubstr("did you mean 'transformer'?")));
}

TEST_F(LoadModelTest, WeightsOfAnotherModelDoNotFit) {
  Host host;
  EXPECT_THAT(error_of([&] { load_model(write("transformer", ""), host); }), HasSubstr("self_attention"));
}

}  // namespace
}  // namespace dragoman::plugins
