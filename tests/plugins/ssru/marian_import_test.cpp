#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/decoding/score.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/export_model.h>
#include <dragoman/plugins/import_model.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::ssru {
namespace {

/// A small model as browsers have them (tests/formats/golden/make_marian.py): Marian's SSRU is this plugin's.
class BrowserModel : public ::testing::Test {
 protected:
  BrowserModel() : host_({.plugins = {DRAGOMAN_TESTED_PLUGIN}}) {
    plugins::import_model(golden_ / "browser", folder(), host_);
  }
  std::filesystem::path folder() const { return scratch_ / "imported"; }

  std::filesystem::path golden_ = testing::source_folder() / "tests/formats/golden/marian";
  testing::TemporaryFolder scratch_;
  plugins::Host host_;
};

TEST_F(BrowserModel, ComputesWhatMariansFormulasSay) {
  const plugins::LoadedModel loaded = plugins::load_model(folder(), host_);
  EXPECT_EQ(loaded.config.model_type, "ssru");
  EXPECT_EQ(loaded.config.model["decoder_tied_layers"], core::Json({0, 0}));
  core::SequentialExecutor executor;
  const auto context = host_.runtime().make_context(tensor::Device::kCpu, executor);
  const core::Json expected = core::load_json((golden_ / "expected.json").string());
  for (const core::Json& c : expected["browser"]) {
    const auto source = c["source"].get<std::vector<std::int32_t>>();
    const auto target = c["target"].get<std::vector<std::int32_t>>();
    const std::vector<std::int32_t> source_offsets{0, static_cast<std::int32_t>(source.size())};
    const std::vector<std::int32_t> target_offsets{0, static_cast<std::int32_t>(target.size())};
    const auto found =
        decoding::score(*loaded.model, *context, {source, source_offsets}, {target, target_offsets}).front();
    const auto wanted = c["log_probabilities"].get<std::vector<double>>();
    ASSERT_EQ(found.token_log_probabilities.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found.token_log_probabilities[i], wanted[i], 3e-5) << i;
    pipeline::TranslateOptions options{.ignore_model_defaults = true};
    options.search.decoder = "greedy";
    options.search.suppress_unknown = true;
    options.search.maximum_length = static_cast<std::int32_t>(2 * source.size() + 10);
    pipeline::Translator translator(pipeline::Model(folder(), host_, {.threads = 1}), options);
    EXPECT_EQ(translator.translate(c["line"].get<std::string>()), c["text"].get<std::string>());
  }
}

TEST_F(BrowserModel, BringsItsShortlist) {
  const formats::ModelConfig config = formats::load_model_config(folder());
  EXPECT_EQ(config.decoding["shortlist"], "shortlist.bin");
  EXPECT_EQ(config.decoding["beam_size"], 1);
  EXPECT_FALSE(formats::ModelFolder(folder()).shortlist().empty());
}

TEST_F(BrowserModel, GoesBackBitForBit) {
  plugins::export_model(folder(), scratch_ / "exported", "marian-npz", host_);
  plugins::import_model(scratch_ / "exported", scratch_ / "back", host_);
  EXPECT_TRUE(core::read_file(scratch_ / "back/model.safetensors") == core::read_file(folder() / "model.safetensors"));
}

}  // namespace
}  // namespace dragoman::ssru
